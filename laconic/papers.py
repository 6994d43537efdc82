"""Where each algorithm comes from: the keys that components name in `paper`."""

from __future__ import annotations

PAPERS: dict[str, str] = {
    "agarwal2021accordion": "Agarwal, Wang, Lee, Venkataraman, Papailiopoulos. Accordion: Adaptive Gradient "
    "Communication via Critical Learning Regime Identification. MLSys 2021. arXiv:2010.16248",
    "agarwal2022utility": "Agarwal, Wang, Venkataraman, Papailiopoulos. On the Utility of Gradient Compression in "
    "Distributed Training Systems. MLSys 2022. arXiv:2103.00543",
    "aji2017sparse": "Aji, Heafield. Sparse Communication for Distributed Gradient Descent. EMNLP 2017. "
    "arXiv:1704.05021",
    "alistarh2017qsgd": "Alistarh, Grubic, Li, Tomioka, Vojnovic. QSGD: Communication-Efficient SGD via Gradient "
    "Quantization and Encoding. NeurIPS 2017. arXiv:1610.02132",
    "bai2021hipress": "Bai et al. Gradient Compression Supercharged High-Performance Data Parallel DNN Training. SOSP "
    "2021",
    "basu2019qsparse": "Basu, Data, Karakus, Diggavi. Qsparse-local-SGD: Distributed SGD with Quantization, "
    "Sparsification, and Local Computations. NeurIPS 2019. arXiv:1906.02367",
    "cho2019gradzip": "Cho, Muthusamy, Nemanich, Puri. GradZip: Gradient Compression using Alternating Matrix "
    "Factorization for Large-scale Deep Learning. Systems for ML workshop at NeurIPS 2019",
    "dutta2020discrepancy": "Dutta et al. On the Discrepancy between the Theoretical Analysis and Practical "
    "Implementations of Compressed Communication for Distributed Deep Learning. AAAI 2020. arXiv:1911.08250",
    "karimireddy2019error": "Karimireddy, Rebjock, Stich, Jaggi. Error Feedback Fixes SignSGD and other Gradient "
    "Compression Schemes. ICML 2019. arXiv:1901.09847",
    "li2020pytorch": "Li et al. PyTorch Distributed: Experiences on Accelerating Data Parallel Training. VLDB 2020. "
    "arXiv:2006.15704",
    "lin2018deep": "Lin, Han, Mao, Wang, Dally. Deep Gradient Compression: Reducing the Communication Bandwidth for "
    "Distributed Training. ICLR 2018. arXiv:1712.01887",
    "markov2022cgx": "Markov, Ramezani-Kebrya, Alistarh. CGX: Adaptive System Support for Communication-Efficient "
    "Deep Learning. Middleware 2022. arXiv:2111.08617",
    "patarasuk2009bandwidth": "Patarasuk, Yuan. Bandwidth Optimal All-reduce Algorithms for Clusters of Workstations. "
    "JPDC 2009",
    "richtarik2021ef21": "Richtarik, Sokolov, Fatkhullin. EF21: A New, Simpler, Theoretically Better, and Practically "
    "Faster Error Feedback. NeurIPS 2021. arXiv:2106.05203",
    "shi2020layer": "Shi, Tang, Wang, Zhao, Chu. Layer-wise Adaptive Gradient Sparsification for Distributed Deep "
    "Learning with Convergence Guarantees. ECAI 2020. arXiv:1911.08727",
    "stich2018sparsified": "Stich, Cordonnier, Jaggi. Sparsified SGD with Memory. NeurIPS 2018. arXiv:1809.07599",
    "stich2019local": "Stich. Local SGD Converges Fast and Communicates Little. ICLR 2019. arXiv:1805.09767",
    "tang2019doublesqueeze": "Tang, Yu, Lian, Zhang, Liu. DoubleSqueeze: Parallel Stochastic Gradient Descent with "
    "Double-pass Error-Compensated Compression. ICML 2019. arXiv:1905.05957",
    "valiant1990bridging": "Valiant. A Bridging Model for Parallel Computation. CACM 1990",
    "vogels2019powersgd": "Vogels, Karimireddy, Jaggi. PowerSGD: Practical Low-Rank Gradient Compression for "
    "Distributed Optimization. NeurIPS 2019. arXiv:1905.13727",
    "wang2018atomo": "Wang, Sievert, Charles, Liu, Wright, Papailiopoulos. ATOMO: Communication-efficient Learning "
    "via Atomic Sparsification. NeurIPS 2018. arXiv:1806.04090",
    "wu2018error": "Wu, Huang, Huang, Zhang. Error Compensated Quantized SGD and its Applications to Large-scale "
    "Distributed Optimization. ICML 2018. arXiv:1806.08054",
    "yu2018gradiveq": "Yu et al. GradiVeQ: Vector Quantization for Bandwidth-Efficient Gradient Aggregation in "
    "Distributed CNN Training. NeurIPS 2018. arXiv:1811.03617",
    "zhang2017poseidon": "Zhang et al. Poseidon: An Efficient Communication Architecture for Distributed Deep Learning "
    "on GPU Clusters. USENIX ATC 2017. arXiv:1706.03292",
    "zhao2019global": "Zhao, Xie, Gao, Li. Global Momentum Compression for Sparse Communication in Distributed "
    "Learning. 2019. arXiv:1905.12948",
    "zheng2019communication": "Zheng, Huang, Kwok. Communication-Efficient Distributed Blockwise Momentum SGD with "
    "Error-Feedback. NeurIPS 2019. arXiv:1905.10936",
}
