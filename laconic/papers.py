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
    "karimireddy2019error": "Karimireddy, Rebjock, Stich, Jaggi. Error Feedback Fixes SignSGD and other Gradient "
    "Compression Schemes. ICML 2019. arXiv:1901.09847",
    "li2020pytorch": "Li et al. PyTorch Distributed: Experiences on Accelerating Data Parallel Training. VLDB 2020. "
    "arXiv:2006.15704",
    "patarasuk2009bandwidth": "Patarasuk, Yuan. Bandwidth Optimal All-reduce Algorithms for Clusters of Workstations. "
    "JPDC 2009",
    "stich2018sparsified": "Stich, Cordonnier, Jaggi. Sparsified SGD with Memory. NeurIPS 2018. arXiv:1809.07599",
    "stich2019local": "Stich. Local SGD Converges Fast and Communicates Little. ICLR 2019. arXiv:1805.09767",
    "valiant1990bridging": "Valiant. A Bridging Model for Parallel Computation. CACM 1990",
    "vogels2019powersgd": "Vogels, Karimireddy, Jaggi. PowerSGD: Practical Low-Rank Gradient Compression for "
    "Distributed Optimization. NeurIPS 2019. arXiv:1905.13727",
    "zhang2017poseidon": "Zhang et al. Poseidon: An Efficient Communication Architecture for Distributed Deep Learning "
    "on GPU Clusters. USENIX ATC 2017. arXiv:1706.03292",
}
