from tinygrad import Context, Tensor, nn

layer = nn.BatchNorm(1)
images = Tensor([1.0, 3.0, 7.0, 9.0]).reshape(2, 1, 1, 2)
with Context(TRAINING=1):
    normalized = layer(images)
print(layer.running_mean.tolist())
