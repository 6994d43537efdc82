"""Where each algorithm comes from: the keys that components name in `paper`."""

from __future__ import annotations

PAPERS: dict[str, str] = {
    "agarwal2022utility": "Agarwal, Wang, Venkataraman, Papailiopoulos. On the Utility of Gradient Compression in "
    "Distributed Training Systems. MLSys 2022. arXiv:2103.00543",
    "aji2017sparse": "Aji, Heafield. Sparse Communication for Distributed Gradient Descent. EMNLP 2017. "
    "arXiv:1704.05021",
    "alistarh2017qsgd": "Alistarh, Grubic, Li, Tomioka, Vojnovic. QSGD: Communication-Efficient SGD via Gradient "
    "Quantization and Encoding. NeurIPS 2017. arXiv:1610.02132",
    "basu2019qsparse": "Basu, Data, Karakus, Diggavi. Qsparse-local-SGD: Distributed SGD with Quantization, "
    "Sparsification, and Local Computations. NeurIPS 2019. arXiv:1906.02367",
    "bernstein2018signsgd": "Bernstein, Wang, Azizzadenesheli, Anandkumar. signSGD: Compressed Optimisation for "
    "Non-Convex Problems. ICML 2018. arXiv:1802.04434",
    "bernstein2019majority": "Bernstein, Zhao, Azizzadenesheli, Anandkumar. signSGD with Majority Vote is "
    "Communication Efficient and Fault Tolerant. ICLR 2019. arXiv:1810.05291",
    "dettmers2016approximations": "Dettmers. 8-Bit Approximations for Parallelism in Deep Learning. ICLR 2016. "
    "arXiv:1511.04561",
    "faghri2020adaptive": "Faghri, Tabrizian, Markov, Alistarh, Roy, Ramezani-Kebrya. Adaptive Gradient Quantization "
    "for Data-Parallel SGD. NeurIPS 2020. arXiv:2010.12460",
    "gan2022bagua": "Gan et al. BAGUA: Scaling up Distributed Learning with System Relaxations. VLDB 2022. "
    "arXiv:2107.01499",
    "horvath2022natural": "Horvath, Ho, Horvath, Sahu, Canini, Richtarik. Natural Compression for Distributed Deep "
    "Learning. MSML 2022. arXiv:1905.10988",
    "jiang2018sketchml": "Jiang, Fu, Yang, Cui. SketchML: Accelerating Distributed Machine Learning with Data "
    "Sketches. SIGMOD 2018",
    "karimireddy2019error": "Karimireddy, Rebjock, Stich, Jaggi. Error Feedback Fixes SignSGD and other Gradient "
    "Compression Schemes. ICML 2019. arXiv:1901.09847",
    "li2020pytorch": "Li et al. PyTorch Distributed: Experiences on Accelerating Data Parallel Training. VLDB 2020. "
    "arXiv:2006.15704",
    "lim2019threelc": "Lim, Andersen, Kaminsky. 3LC: Lightweight and Effective Traffic Compression for Distributed "
    "Machine Learning. MLSys 2019. arXiv:1802.07389",
    "micikevicius2022fp8": "Micikevicius et al. FP8 Formats for Deep Learning. 2022. arXiv:2209.05433",
    "mishchenko2019diana": "Mishchenko, Gorbunov, Takac, Richtarik. Distributed Learning with Compressed Gradient "
    "Differences. 2019. arXiv:1901.09269",
    "patarasuk2009bandwidth": "Patarasuk, Yuan. Bandwidth Optimal All-reduce Algorithms for Clusters of Workstations. "
    "JPDC 2009",
    "ramezani2021nuqsgd": "Ramezani-Kebrya, Faghri, Markov, Aksenov, Alistarh, Roy. NUQSGD: Provably "
    "Communication-Efficient Data-Parallel SGD via Nonuniform Quantization. JMLR 2021. arXiv:1908.06077",
    "seide2014onebit": "Seide, Fu, Droppo, Li, Yu. 1-Bit Stochastic Gradient Descent and its Application to "
    "Data-Parallel Distributed Training of Speech DNNs. Interspeech 2014",
    "stich2018sparsified": "Stich, Cordonnier, Jaggi. Sparsified SGD with Memory. NeurIPS 2018. arXiv:1809.07599",
    "stich2019local": "Stich. Local SGD Converges Fast and Communicates Little. ICLR 2019. arXiv:1805.09767",
    "strom2015scalable": "Strom. Scalable Distributed DNN Training Using Commodity GPU Cloud Computing. Interspeech "
    "2015",
    "sun2019laq": "Sun, Chen, Giannakis, Yang. Communication-Efficient Distributed Learning via Lazily Aggregated "
    "Quantized Gradients. NeurIPS 2019. arXiv:1909.07588",
    "suresh2017mean": "Suresh, Yu, Kumar, McMahan. Distributed Mean Estimation with Limited Communication. ICML 2017. "
    "arXiv:1611.00429",
    "valiant1990bridging": "Valiant. A Bridging Model for Parallel Computation. CACM 1990",
    "vargaftik2021drive": "Vargaftik, Ben-Basat, Portnoy, Mendelson, Ben-Itzhak, Mitzenmacher. DRIVE: One-bit "
    "Distributed Mean Estimation. NeurIPS 2021. arXiv:2105.08339",
    "vargaftik2022eden": "Vargaftik, Ben-Basat, Portnoy, Mendelson, Ben-Itzhak, Mitzenmacher. EDEN: "
    "Communication-Efficient and Robust Distributed Mean Estimation for Federated Learning. ICML 2022. "
    "arXiv:2108.08842",
    "vogels2019powersgd": "Vogels, Karimireddy, Jaggi. PowerSGD: Practical Low-Rank Gradient Compression for "
    "Distributed Optimization. NeurIPS 2019. arXiv:1905.13727",
    "wen2017terngrad": "Wen, Xu, Yan, Wu, Wang, Chen, Li. TernGrad: Ternary Gradients to Reduce Communication in "
    "Distributed Deep Learning. NeurIPS 2017. arXiv:1705.07878",
    "wu2018ecq": "Wu, Huang, Huang, Zhang. Error Compensated Quantized SGD and its Applications to Large-Scale "
    "Distributed Optimization. ICML 2018. arXiv:1806.08054",
    "xin2023global": "Xin, Canini, Richtarik, Horvath. Global-QSGD: Practical Floatless Quantization for Distributed "
    "Learning with Theoretical Guarantees. 2023. arXiv:2305.18627",
    "yan2021dqsgd": "Yan, Huang, Lan, Song. DQ-SGD: Dynamic Quantization in SGD for Communication-Efficient "
    "Distributed Learning. 2021. arXiv:2107.14575",
    "yu2019double": "Yu, Wu, Huang. Double Quantization for Communication-Efficient Distributed Optimization. NeurIPS "
    "2019. arXiv:1805.10111",
    "zhang2017poseidon": "Zhang et al. Poseidon: An Efficient Communication Architecture for Distributed Deep "
    "Learning on GPU Clusters. USENIX ATC 2017. arXiv:1706.03292",
}
