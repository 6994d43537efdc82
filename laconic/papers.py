"""Where each algorithm comes from: the keys that components name in `paper`."""

from __future__ import annotations

PAPERS: dict[str, str] = {
    "abdelmoniem2021sidco": "Abdelmoniem, Elzanaty, Alouini, Canini. An Efficient Statistical-based Gradient "
    "Compression Technique for Distributed Training Systems. MLSys 2021. arXiv:2101.10761",
    "agarwal2021accordion": "Agarwal, Wang, Lee, Venkataraman, Papailiopoulos. Accordion: Adaptive Gradient "
    "Communication via Critical Learning Regime Identification. MLSys 2021. arXiv:2010.16248",
    "agarwal2022utility": "Agarwal, Wang, Venkataraman, Papailiopoulos. On the Utility of Gradient Compression in "
    "Distributed Training Systems. MLSys 2022. arXiv:2103.00543",
    "aji2017sparse": "Aji, Heafield. Sparse Communication for Distributed Gradient Descent. EMNLP 2017. "
    "arXiv:1704.05021",
    "alistarh2017qsgd": "Alistarh, Grubic, Li, Tomioka, Vojnovic. QSGD: Communication-Efficient SGD via Gradient "
    "Quantization and Encoding. NeurIPS 2017. arXiv:1610.02132",
    "assran2019sgp": "Assran, Loizou, Ballas, Rabbat. Stochastic Gradient Push for Distributed Deep Learning. ICML "
    "2019. arXiv:1811.10792",
    "bai2021hipress": "Bai et al. Gradient Compression Supercharged High-Performance Data Parallel DNN Training. SOSP "
    "2021",
    "basu2019qsparse": "Basu, Data, Karakus, Diggavi. Qsparse-local-SGD: Distributed SGD with Quantization, "
    "Sparsification, and Local Computations. NeurIPS 2019. arXiv:1906.02367",
    "bernstein2018signsgd": "Bernstein, Wang, Azizzadenesheli, Anandkumar. signSGD: Compressed Optimisation for "
    "Non-Convex Problems. ICML 2018. arXiv:1802.04434",
    "bernstein2019majority": "Bernstein, Zhao, Azizzadenesheli, Anandkumar. signSGD with Majority Vote is "
    "Communication Efficient and Fault Tolerant. ICLR 2019. arXiv:1810.05291",
    "boyd2006gossip": "Boyd, Ghosh, Prabhakar, Shah. Randomized Gossip Algorithms. IEEE Transactions on Information "
    "Theory 2006",
    "chen2016revisiting": "Chen, Pan, Monga, Bengio, Jozefowicz. Revisiting Distributed Synchronous SGD. 2016. "
    "arXiv:1604.00981",
    "chen2016scalable": "Chen, Huo. Scalable Training of Deep Learning Machines by Incremental Block Training with "
    "Intra-block Parallel Optimization and Blockwise Model-Update Filtering. ICASSP 2016",
    "chen2018adacomp": "Chen, Choi, Brand, Agrawal, Zhang, Gopalakrishnan. AdaComp: Adaptive Residual Gradient "
    "Compression for Data-Parallel Distributed Training. AAAI 2018. arXiv:1712.02679",
    "chen2018lag": "Chen, Giannakis, Sun, Yin. LAG: Lazily Aggregated Gradient for Communication-Efficient "
    "Distributed Learning. NeurIPS 2018. arXiv:1805.09965",
    "chen2019round": "Chen, Wang, Li. Round-Robin Synchronization: Mitigating Communication Bottlenecks in Parameter "
    "Servers. INFOCOM 2019",
    "chen2020lasg": "Chen, Sun, Yin. LASG: Lazily Aggregated Stochastic Gradients for Communication-Efficient "
    "Distributed Learning. 2020. arXiv:2002.11360",
    "cho2019blueconnect": "Cho, Finkler, Serrano, Kung, Hunter. BlueConnect: Decomposing All-Reduce for Deep Learning "
    "on Heterogeneous Network Hierarchy. MLSys 2019",
    "cho2019gradzip": "Cho, Muthusamy, Nemanich, Puri. GradZip: Gradient Compression using Alternating Matrix "
    "Factorization for Large-scale Deep Learning. Systems for ML workshop at NeurIPS 2019",
    "dean2012large": "Dean et al. Large Scale Distributed Deep Networks. NIPS 2012",
    "dettmers2016approximations": "Dettmers. 8-Bit Approximations for Parallelism in Deep Learning. ICLR 2016. "
    "arXiv:1511.04561",
    "douillard2023diloco": "Douillard et al. DiLoCo: Distributed Low-Communication Training of Language Models. 2023. "
    "arXiv:2311.08105",
    "douillard2025streaming": "Douillard et al. Streaming DiLoCo with overlapping communication: Towards a "
    "Distributed Free Lunch. 2025. arXiv:2501.18512",
    "dryden2016communication": "Dryden, Jacobs, Moon, Van Essen. Communication Quantization for Data-Parallel "
    "Training of Deep Neural Networks. MLHPC 2016",
    "dutta2020discrepancy": "Dutta et al. On the Discrepancy between the Theoretical Analysis and Practical "
    "Implementations of Compressed Communication for Distributed Deep Learning. AAAI 2020. arXiv:1911.08250",
    "elias1975universal": "Elias. Universal Codeword Sets and Representations of the Integers. IEEE Transactions on "
    "Information Theory 1975",
    "faghri2020adaptive": "Faghri, Tabrizian, Markov, Alistarh, Roy, Ramezani-Kebrya. Adaptive Gradient Quantization "
    "for Data-Parallel SGD. NeurIPS 2020. arXiv:2010.12460",
    "fang2019redsync": "Fang, Fu, Yang, Hsieh. RedSync: Reducing Synchronization Bandwidth for Distributed Deep "
    "Learning Training System. JPDC 2019. arXiv:1808.04357",
    "fei2021efficient": "Fei, Ho, Sahu, Canini, Sapio. Efficient Sparse Collective Communication and its Application "
    "to Accelerate Distributed Deep Learning. SIGCOMM 2021",
    "gan2022bagua": "Gan et al. BAGUA: Scaling up Distributed Learning with System Relaxations. VLDB 2022. "
    "arXiv:2107.01499",
    "golomb1966run": "Golomb. Run-Length Encodings. IEEE Transactions on Information Theory 1966",
    "goyal2017accurate": "Goyal et al. Accurate, Large Minibatch SGD: Training ImageNet in 1 Hour. 2017. "
    "arXiv:1706.02677",
    "haddadpour2019local": "Haddadpour, Kamani, Mahdavi, Cadambe. Local SGD with Periodic Averaging: Tighter Analysis "
    "and Adaptive Synchronization. NeurIPS 2019. arXiv:1910.13598",
    "ho2013more": "Ho et al. More Effective Distributed ML via a Stale Synchronous Parallel Parameter Server. NIPS "
    "2013",
    "horvath2022natural": "Horvath, Ho, Horvath, Sahu, Canini, Richtarik. Natural Compression for Distributed Deep "
    "Learning. MSML 2022. arXiv:1905.10988",
    "huffman1952method": "Huffman. A Method for the Construction of Minimum-Redundancy Codes. Proceedings of the IRE "
    "1952",
    "ivkin2019communication": "Ivkin, Rothchild, Ullah, Braverman, Stoica, Arora. Communication-efficient Distributed "
    "SGD with Sketching. NeurIPS 2019. arXiv:1903.04488",
    "jia2018highly": "Jia et al. Highly Scalable Deep Learning Training System with Mixed-Precision: Training "
    "ImageNet in Four Minutes. 2018. arXiv:1807.11205",
    "jiang2018sketchml": "Jiang, Fu, Yang, Cui. SketchML: Accelerating Distributed Machine Learning with Data "
    "Sketches. SIGMOD 2018",
    "karimireddy2019error": "Karimireddy, Rebjock, Stich, Jaggi. Error Feedback Fixes SignSGD and other Gradient "
    "Compression Schemes. ICML 2019. arXiv:1901.09847",
    "kolehmainen2025noloco": "Kolehmainen, Blagoev, Donaghy, Ersoy, Nies. NoLoCo: No-all-reduce Low Communication "
    "Training Method for Large Models. 2025. arXiv:2506.10911",
    "koloskova2019choco": "Koloskova, Stich, Jaggi. Decentralized Stochastic Optimization and Gossip Algorithms with "
    "Compressed Communication. ICML 2019. arXiv:1902.00340",
    "konecny2016federated": "Konečný, McMahan, Yu, Richtárik, Suresh, Bacon. Federated Learning: Strategies for "
    "Improving Communication Efficiency. 2016. arXiv:1610.05492",
    "krizhevsky2014one": "Krizhevsky. One weird trick for parallelizing convolutional neural networks. 2014. "
    "arXiv:1404.5997",
    "li2014communication": "Li, Andersen, Smola, Yu. Communication Efficient Distributed Machine Learning with the "
    "Parameter Server. NIPS 2014",
    "li2014scaling": "Li, Andersen, Park, Smola, Ahmed, Josifovski, Long, Shekita, Su. Scaling Distributed Machine "
    "Learning with the Parameter Server. OSDI 2014",
    "li2020pytorch": "Li et al. PyTorch Distributed: Experiences on Accelerating Data Parallel Training. VLDB 2020. "
    "arXiv:2006.15704",
    "li2020taming": "Li, Ben-Nun, Di Girolamo, Alistarh, Hoefler. Taming Unbalanced Training Workloads in Deep "
    "Learning with Partial Collective Operations. PPoPP 2020. arXiv:1908.04207",
    "li2022near": "Li, Hoefler. Near-Optimal Sparse Allreduce for Distributed Deep Learning. PPoPP 2022. "
    "arXiv:2201.07598",
    "lian2017dpsgd": "Lian, Zhang, Zhang, Hsieh, Zhang, Liu. Can Decentralized Algorithms Outperform Centralized "
    "Algorithms? A Case Study for Decentralized Parallel Stochastic Gradient Descent. NeurIPS 2017. arXiv:1705.09056",
    "lian2018adpsgd": "Lian, Zhang, Zhang, Liu. Asynchronous Decentralized Parallel Stochastic Gradient Descent. ICML "
    "2018. arXiv:1710.06952",
    "lim2019threelc": "Lim, Andersen, Kaminsky. 3LC: Lightweight and Effective Traffic Compression for Distributed "
    "Machine Learning. MLSys 2019. arXiv:1802.07389",
    "lin2018deep": "Lin, Han, Mao, Wang, Dally. Deep Gradient Compression: Reducing the Communication Bandwidth for "
    "Distributed Training. ICLR 2018. arXiv:1712.01887",
    "lin2020dont": "Lin, Stich, Patel, Jaggi. Don't Use Large Mini-Batches, Use Local SGD. ICLR 2020. arXiv:1808.07217",
    "markov2022cgx": "Markov, Ramezani-Kebrya, Alistarh. CGX: Adaptive System Support for Communication-Efficient "
    "Deep Learning. Middleware 2022. arXiv:2111.08617",
    "micikevicius2022fp8": "Micikevicius et al. FP8 Formats for Deep Learning. 2022. arXiv:2209.05433",
    "mikami2018massively": "Mikami, Suganuma, U-chupala, Tanaka, Kageyama. Massively Distributed SGD: "
    "ImageNet/ResNet-50 Training in a Flash. 2018. arXiv:1811.05233",
    "mishchenko2019diana": "Mishchenko, Gorbunov, Takac, Richtarik. Distributed Learning with Compressed Gradient "
    "Differences. 2019. arXiv:1901.09269",
    "mishchenko2020ninetynine": "Mishchenko, Hanzely, Richtárik. 99% of Worker-Master Communication in Distributed "
    "Optimization Is Not Needed. UAI 2020. arXiv:1901.09437",
    "patarasuk2009bandwidth": "Patarasuk, Yuan. Bandwidth Optimal All-reduce Algorithms for Clusters of Workstations. "
    "JPDC 2009",
    "peng2024demo": "Peng, Quesnelle, Kingma. DeMo: Decoupled Momentum Optimization. 2024. arXiv:2411.19870",
    "ramezani2021nuqsgd": "Ramezani-Kebrya, Faghri, Markov, Aksenov, Alistarh, Roy. NUQSGD: Provably "
    "Communication-Efficient Data-Parallel SGD via Nonuniform Quantization. JMLR 2021. arXiv:1908.06077",
    "renggli2019sparcml": "Renggli, Ashkboos, Aghagolzadeh, Alistarh, Hoefler. SparCML: High-Performance Sparse "
    "Communication for Machine Learning. SC 2019. arXiv:1802.08021",
    "richtarik2021ef21": "Richtarik, Sokolov, Fatkhullin. EF21: A New, Simpler, Theoretically Better, and Practically "
    "Faster Error Feedback. NeurIPS 2021. arXiv:2106.05203",
    "sahu2021rethinking": "Sahu, Dutta, Abdelmoniem, Banerjee, Canini, Kalnis. Rethinking Gradient Sparsification as "
    "Total Error Minimization. NeurIPS 2021. arXiv:2108.00951",
    "sanders2009two": "Sanders, Speck, Träff. Two-tree Algorithms for Full Bandwidth Broadcast, Reduction and Scan. "
    "Parallel Computing 2009",
    "sarfi2025communication": "Sarfi, Thérien, Lidin, Belilovsky. Communication Efficient LLM Pre-training with "
    "SparseLoCo. 2025. arXiv:2508.15706",
    "sattler2019robust": "Sattler, Wiedemann, Müller, Samek. Robust and Communication-Efficient Federated Learning "
    "from Non-IID Data. TNNLS 2019. arXiv:1903.02891",
    "sattler2019sparse": "Sattler, Wiedemann, Müller, Samek. Sparse Binary Compression: Towards Distributed Deep "
    "Learning with Minimal Communication. IJCNN 2019. arXiv:1805.08768",
    "seide2014onebit": "Seide, Fu, Droppo, Li, Yu. 1-Bit Stochastic Gradient Descent and its Application to "
    "Data-Parallel Distributed Training of Speech DNNs. Interspeech 2014",
    "shen2019faster": "Shen, Xu, Liu, Chen, Cheng. Faster Distributed Deep Net Training: Computation and "
    "Communication Decoupled Stochastic Gradient Descent. IJCAI 2019. arXiv:1906.12043",
    "shi2019distributed": "Shi, Wang, Zhao, Tang, Wang, Huang, Chu. A Distributed Synchronous SGD Algorithm with "
    "Global Top-k Sparsification for Low Bandwidth Networks. ICDCS 2019. arXiv:1901.04359",
    "shi2019understanding": "Shi, Chu, Cheung, See. Understanding Top-k Sparsification in Distributed Deep Learning. "
    "2019. arXiv:1911.08772",
    "shi2020layer": "Shi, Tang, Wang, Zhao, Chu. Layer-wise Adaptive Gradient Sparsification for Distributed Deep "
    "Learning with Convergence Guarantees. ECAI 2020. arXiv:1911.08727",
    "shi2021towards": "Shi, Zhou, Song, et al. Towards Scalable Distributed Training of Deep Learning on Public Cloud "
    "Clusters. MLSys 2021. arXiv:2010.10458",
    "stich2018sparsified": "Stich, Cordonnier, Jaggi. Sparsified SGD with Memory. NeurIPS 2018. arXiv:1809.07599",
    "stich2019local": "Stich. Local SGD Converges Fast and Communicates Little. ICLR 2019. arXiv:1805.09767",
    "strom2015scalable": "Strom. Scalable Distributed DNN Training Using Commodity GPU Cloud Computing. Interspeech "
    "2015",
    "sun2019laq": "Sun, Chen, Giannakis, Yang. Communication-Efficient Distributed Learning via Lazily Aggregated "
    "Quantized Gradients. NeurIPS 2019. arXiv:1909.07588",
    "suresh2017mean": "Suresh, Yu, Kumar, McMahan. Distributed Mean Estimation with Limited Communication. ICML 2017. "
    "arXiv:1611.00429",
    "tang2018dcd": "Tang, Gan, Zhang, Zhang, Liu. Communication Compression for Decentralized Training. NeurIPS 2018. "
    "arXiv:1803.06443",
    "tang2019deepsqueeze": "Tang, Lian, Qiu, Yuan, Zhang, Zhang, Liu. DeepSqueeze: Decentralization Meets "
    "Error-Compensated Compression. 2019. arXiv:1907.07346",
    "tang2019doublesqueeze": "Tang, Yu, Lian, Zhang, Liu. DoubleSqueeze: Parallel Stochastic Gradient Descent with "
    "Double-pass Error-Compensated Compression. ICML 2019. arXiv:1905.05957",
    "thakur2005optimization": "Thakur, Rabenseifner, Gropp. Optimization of Collective Communication Operations in "
    "MPICH. International Journal of High Performance Computing Applications 2005",
    "tsuzuku2018variance": "Tsuzuku, Imachi, Akiba. Variance-based Gradient Compression for Efficient Distributed "
    "Deep Learning. ICLR workshop 2018. arXiv:1802.06058",
    "valiant1990bridging": "Valiant. A Bridging Model for Parallel Computation. CACM 1990",
    "vargaftik2021drive": "Vargaftik, Ben-Basat, Portnoy, Mendelson, Ben-Itzhak, Mitzenmacher. DRIVE: One-bit "
    "Distributed Mean Estimation. NeurIPS 2021. arXiv:2105.08339",
    "vargaftik2022eden": "Vargaftik, Ben-Basat, Portnoy, Mendelson, Ben-Itzhak, Mitzenmacher. EDEN: "
    "Communication-Efficient and Robust Distributed Mean Estimation for Federated Learning. ICML 2022. "
    "arXiv:2108.08842",
    "vogels2019powersgd": "Vogels, Karimireddy, Jaggi. PowerSGD: Practical Low-Rank Gradient Compression for "
    "Distributed Optimization. NeurIPS 2019. arXiv:1905.13727",
    "vogels2020powergossip": "Vogels, Karimireddy, Jaggi. Practical Low-Rank Communication Compression in "
    "Decentralized Deep Learning. NeurIPS 2020. arXiv:2008.01425",
    "wang2018atomo": "Wang, Sievert, Charles, Liu, Wright, Papailiopoulos. ATOMO: Communication-efficient Learning "
    "via Atomic Sparsification. NeurIPS 2018. arXiv:1806.04090",
    "wang2019adaptive": "Wang, Joshi. Adaptive Communication Strategies to Achieve the Best Error-Runtime Trade-off "
    "in Local-Update SGD. MLSys 2019. arXiv:1810.08313",
    "wang2019cmfl": "Wang, Wang, Li. CMFL: Mitigating Communication Overhead for Federated Learning. ICDCS 2019",
    "wang2020slowmo": "Wang, Tantia, Ballas, Rabbat. SlowMo: Improving Communication-Efficient Distributed SGD with "
    "Slow Momentum. ICLR 2020. arXiv:1910.00643",
    "wangni2018gradient": "Wangni, Wang, Liu, Zhang. Gradient Sparsification for Communication-Efficient Distributed "
    "Optimization. NeurIPS 2018. arXiv:1710.09854",
    "wen2017terngrad": "Wen, Xu, Yan, Wu, Wang, Chen, Li. TernGrad: Ternary Gradients to Reduce Communication in "
    "Distributed Deep Learning. NeurIPS 2017. arXiv:1705.07878",
    "wu2018ecq": "Wu, Huang, Huang, Zhang. Error Compensated Quantized SGD and its Applications to Large-Scale "
    "Distributed Optimization. ICML 2018. arXiv:1806.08054",
    "wu2018error": "Wu, Huang, Huang, Zhang. Error Compensated Quantized SGD and its Applications to Large-scale "
    "Distributed Optimization. ICML 2018. arXiv:1806.08054",
    "xin2023global": "Xin, Canini, Richtarik, Horvath. Global-QSGD: Practical Floatless Quantization for Distributed "
    "Learning with Theoretical Guarantees. 2023. arXiv:2305.18627",
    "xu2021step": "Xu, Huo, Huang. Step-Ahead Error Feedback for Distributed Training with Compressed Gradient. "
    "AAAI 2021. arXiv:2008.05823",
    "yan2021dqsgd": "Yan, Huang, Lan, Song. DQ-SGD: Dynamic Quantization in SGD for Communication-Efficient "
    "Distributed Learning. 2021. arXiv:2107.14575",
    "ying2018image": "Ying, Kumar, Chen, Wang, Cheng. Image Classification at Supercomputer Scale. 2018. "
    "arXiv:1811.06992",
    "ying2021exponential": "Ying, Yuan, Chen, Hu, Pan, Yin. Exponential Graph is Provably Efficient for Decentralized "
    "Deep Training. NeurIPS 2021. arXiv:2110.13363",
    "you2017large": "You, Gitman, Ginsburg. Large Batch Training of Convolutional Networks. 2017. arXiv:1708.03888",
    "you2019large": "You, Hseu, Ying, Demmel, Keutzer, Hsieh. Large-Batch Training for LSTM and Beyond. SC 2019. "
    "arXiv:1901.08256",
    "you2020large": "You et al. Large Batch Optimization for Deep Learning: Training BERT in 76 minutes. ICLR 2020. "
    "arXiv:1904.00962",
    "yu2018gradiveq": "Yu et al. GradiVeQ: Vector Quantization for Bandwidth-Efficient Gradient Aggregation in "
    "Distributed CNN Training. NeurIPS 2018. arXiv:1811.03617",
    "yu2019computation": "Yu, Jin. On the Computation and Communication Complexity of Parallel SGD with Dynamic Batch "
    "Sizes for Stochastic Non-Convex Optimization. ICML 2019. arXiv:1905.04346",
    "yu2019double": "Yu, Wu, Huang. Double Quantization for Communication-Efficient Distributed Optimization. NeurIPS "
    "2019. arXiv:1805.10111",
    "zhang2016staleness": "Zhang, Gupta, Lian, Liu. Staleness-aware Async-SGD for Distributed Deep Learning. IJCAI "
    "2016. arXiv:1511.05950",
    "zhang2017poseidon": "Zhang et al. Poseidon: An Efficient Communication Architecture for Distributed Deep "
    "Learning on GPU Clusters. USENIX ATC 2017. arXiv:1706.03292",
    "zhao2019global": "Zhao, Xie, Gao, Li. Global Momentum Compression for Sparse Communication in Distributed "
    "Learning. 2019. arXiv:1905.12948",
    "zheng2017asynchronous": "Zheng et al. Asynchronous Stochastic Gradient Descent with Delay Compensation. ICML "
    "2017. arXiv:1609.08326",
    "zheng2019communication": "Zheng, Huang, Kwok. Communication-Efficient Distributed Blockwise Momentum SGD with "
    "Error-Feedback. NeurIPS 2019. arXiv:1905.10936",
    "zhou2018convergence": "Zhou, Cong. On the Convergence Properties of a K-step Averaging Stochastic Gradient "
    "Descent Algorithm for Nonconvex Optimization. IJCAI 2018. arXiv:1708.01012",
    "zinkevich2010parallelized": "Zinkevich, Weimer, Smola, Li. Parallelized Stochastic Gradient Descent. NIPS 2010",
}
