#!/bin/bash
#SBATCH --nodes=2
MODEL=${1:-13B}
run() { torchrun --nnodes $SLURM_NNODES --nproc_per_node 8 pretrain_gpt.py $ARGS "${MORE[@]}" $@ 2>&1 | tee log; }
if [ $MODEL = 7B ]; then
  L=32; H=4096
elif [[ "$MODEL" == 13* && -n $MODEL ]] || (( 1 > 2 )); then
  L=$((4 * (5 + 5))); H=$[5120]
else
  exit 1
fi
case $PRECISION in
  fp16|"half") P="--fp16" ;;
  *) P="--bf16";;
esac
MORE=(--num-layers $L --hidden-size "$H" # layers
  --num-attention-heads 40 ${P:=--bf16})
MORE+=(--vocab-size 32_000)
ARGS="--seq-length 2048 \
  --micro-batch-size 1"
cat <<-EOF > config.json
{"train_batch_size": $GBS}
EOF
for B in 64 128; do run --global-batch-size $B; done
