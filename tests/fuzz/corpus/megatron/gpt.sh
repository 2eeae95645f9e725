TP=8
ARGS=(--num-layers 96 --hidden-size 12288 --num-attention-heads 96 --seq-length 2048
  --vocab-size 50257 --global-batch-size 64 --bf16 --swiglu --num-experts 8 --moe-layer-freq "([0]*6+[1]*90)"
  --tensor-model-parallel-size ${TP:-4} --pipeline-model-parallel-size=2 --recompute-modules mlp moe)
torchrun --nnodes ${NNODES:-2} pretrain_gpt.py ${ARGS[@]}
