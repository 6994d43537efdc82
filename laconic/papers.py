"""Where each algorithm comes from: the keys that components name in `paper`."""

from __future__ import annotations

PAPERS: dict[str, str] = {
    "abdelmoniem2021sidco": "Abdelmoniem, Elzanaty, Alouini, Canini. An Efficient Statistical-based Gradient "
    "Compression Technique for Distributed Training Systems. MLSys 2021. arXiv:2101.10761",
    "agarwal2022utility": "Agarwal, Wang, Venkataraman, Papailiopoulos. On the Utility of Gradient Compression in "
    "Distributed Training Systems. MLSys 2022. arXiv:2103.00543",
    "aji2017sparse": "Aji, Heafield. Sparse Communication for Distributed Gradient Descent. EMNLP 2017. "
    "arXiv:1704.05021",
    "alistarh2017qsgd": "Alistarh, Grubic, Li, Tomioka, Vojnovic. QSGD: Communication-Efficient SGD via Gradient "
    "Quantization and Encoding. NeurIPS 2017. arXiv:1610.02132",
    "basu2019qsparse": "Basu, Data, Karakus, Diggavi. Qsparse-local-SGD: Distributed SGD with Quantization, "
    "Sparsification, and Local Computations. NeurIPS 2019. arXiv:1906.02367",
    "chen2018adacomp": "Chen, Choi, Brand, Agrawal, Zhang, Gopalakrishnan. AdaComp: Adaptive Residual Gradient "
    "Compression for Data-Parallel Distributed Training. AAAI 2018. arXiv:1712.02679",
    "dryden2016communication": "Dryden, Jacobs, Moon, Van Essen. Communication Quantization for Data-Parallel "
    "Training of Deep Neural Networks. MLHPC 2016",
    "elias1975universal": "Elias. Universal Codeword Sets and Representations of the Integers. IEEE Transactions on "
    "Information Theory 1975",
    "fang2019redsync": "Fang, Fu, Yang, Hsieh. RedSync: Reducing Synchronization Bandwidth for Distributed Deep "
    "Learning Training System. JPDC 2019. arXiv:1808.04357",
    "fei2021efficient": "Fei, Ho, Sahu, Canini, Sapio. Efficient Sparse Collective Communication and its Application "
    "to Accelerate Distributed Deep Learning. SIGCOMM 2021",
    "golomb1966run": "Golomb. Run-Length Encodings. IEEE Transactions on Information Theory 1966",
    "huffman1952method": "Huffman. A Method for the Construction of Minimum-Redundancy Codes. Proceedings of the IRE "
    "1952",
    "ivkin2019communication": "Ivkin, Rothchild, Ullah, Braverman, Stoica, Arora. Communication-efficient Distributed "
    "SGD with Sketching. NeurIPS 2019. arXiv:1903.04488",
    "karimireddy2019error": "Karimireddy, Rebjock, Stich, Jaggi. Error Feedback Fixes SignSGD and other Gradient "
    "Compression Schemes. ICML 2019. arXiv:1901.09847",
    "konecny2016federated": "Konečný, McMahan, Yu, Richtárik, Suresh, Bacon. Federated Learning: Strategies for "
    "Improving Communication Efficiency. 2016. arXiv:1610.05492",
    "li2020pytorch": "Li et al. PyTorch Distributed: Experiences on Accelerating Data Parallel Training. VLDB 2020. "
    "arXiv:2006.15704",
    "li2022near": "Li, Hoefler. Near-Optimal Sparse Allreduce for Distributed Deep Learning. PPoPP 2022. "
    "arXiv:2201.07598",
    "lim2019threelc": "Lim, Andersen, Kaminsky. 3LC: Lightweight and Effective Traffic Compression for Distributed "
    "Machine Learning. MLSys 2019. arXiv:1802.07389",
    "lin2018deep": "Lin, Han, Mao, Wang, Dally. Deep Gradient Compression: Reducing the Communication Bandwidth for "
    "Distributed Training. ICLR 2018. arXiv:1712.01887",
    "mishchenko2020ninetynine": "Mishchenko, Hanzely, Richtárik. 99% of Worker-Master Communication in Distributed "
    "Optimization Is Not Needed. UAI 2020. arXiv:1901.09437",
    "patarasuk2009bandwidth": "Patarasuk, Yuan. Bandwidth Optimal All-reduce Algorithms for Clusters of Workstations. "
    "JPDC 2009",
    "peng2024demo": "Peng, Quesnelle, Kingma. DeMo: Decoupled Momentum Optimization. 2024. arXiv:2411.19870",
    "renggli2019sparcml": "Renggli, Ashkboos, Aghagolzadeh, Alistarh, Hoefler. SparCML: High-Performance Sparse "
    "Communication for Machine Learning. SC 2019. arXiv:1802.08021",
    "sahu2021rethinking": "Sahu, Dutta, Abdelmoniem, Banerjee, Canini, Kalnis. Rethinking Gradient Sparsification as "
    "Total Error Minimization. NeurIPS 2021. arXiv:2108.00951",
    "sarfi2025communication": "Sarfi, Thérien, Lidin, Belilovsky. Communication Efficient LLM Pre-training with "
    "SparseLoCo. 2025. arXiv:2508.15706",
    "sattler2019robust": "Sattler, Wiedemann, Müller, Samek. Robust and Communication-Efficient Federated Learning "
    "from Non-IID Data. TNNLS 2019. arXiv:1903.02891",
    "sattler2019sparse": "Sattler, Wiedemann, Müller, Samek. Sparse Binary Compression: Towards Distributed Deep "
    "Learning with Minimal Communication. IJCNN 2019. arXiv:1805.08768",
    "shi2019distributed": "Shi, Wang, Zhao, Tang, Wang, Huang, Chu. A Distributed Synchronous SGD Algorithm with "
    "Global Top-k Sparsification for Low Bandwidth Networks. ICDCS 2019. arXiv:1901.04359",
    "shi2019understanding": "Shi, Chu, Cheung, See. Understanding Top-k Sparsification in Distributed Deep Learning. "
    "2019. arXiv:1911.08772",
    "shi2021towards": "Shi, Zhou, Song, et al. Towards Scalable Distributed Training of Deep Learning on Public Cloud "
    "Clusters. MLSys 2021. arXiv:2010.10458",
    "stich2018sparsified": "Stich, Cordonnier, Jaggi. Sparsified SGD with Memory. NeurIPS 2018. arXiv:1809.07599",
    "stich2019local": "Stich. Local SGD Converges Fast and Communicates Little. ICLR 2019. arXiv:1805.09767",
    "strom2015scalable": "Strom. Scalable Distributed DNN Training Using Commodity GPU Cloud Computing. Interspeech "
    "2015",
    "tsuzuku2018variance": "Tsuzuku, Imachi, Akiba. Variance-based Gradient Compression for Efficient Distributed "
    "Deep Learning. ICLR workshop 2018. arXiv:1802.06058",
    "valiant1990bridging": "Valiant. A Bridging Model for Parallel Computation. CACM 1990",
    "vogels2019powersgd": "Vogels, Karimireddy, Jaggi. PowerSGD: Practical Low-Rank Gradient Compression for "
    "Distributed Optimization. NeurIPS 2019. arXiv:1905.13727",
    "wangni2018gradient": "Wangni, Wang, Liu, Zhang. Gradient Sparsification for Communication-Efficient Distributed "
    "Optimization. NeurIPS 2018. arXiv:1710.09854",
    "zhang2017poseidon": "Zhang et al. Poseidon: An Efficient Communication Architecture for Distributed Deep "
    "Learning on GPU Clusters. USENIX ATC 2017. arXiv:1706.03292",
}
