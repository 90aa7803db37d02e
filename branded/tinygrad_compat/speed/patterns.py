"""Functions that match the patterns of tinygrad 0.14, by their texts: `python -m tests.patterns` wrote them.

A function's free names are values of its pattern, which `pattern_compiler.py` supplies.
"""

# mypy: ignore-errors


def m001d09258a243ad44083(uop, ctx):
  if not (len(uop.src) == 3 and uop.src[0].op in v0 and uop.src[1].op in v1 and uop.src[2].op in v2): return None
  if (found := own(a=uop)) is not None: return found
  return None

def m0024aeb2ae0ee81534b8(uop, ctx):
  if not (len(uop.src) == 3 and uop.src[0].op == 41 and len(uop.src[0].src) == 2 and uop.src[0].dtype == v0): return None
  if uop.src[0].src[0].dtype == v1 and uop.src[0].src[1].op == 59 and uop.src[0].src[1].arg == 1 and (found := own(cond=uop.src[0].src[0], t=uop.src[1], f=uop.src[2])) is not None: return found
  if uop.src[0].src[0].op == 59 and uop.src[0].src[0].arg == 1 and uop.src[0].src[1].dtype == v2 and (found := own(cond=uop.src[0].src[1], t=uop.src[1], f=uop.src[2])) is not None: return found
  return None

def m00963bb56d0d61159ff1(uop, ctx):
  if not (len(uop.src) == 2 and uop.dtype == v0 and uop.src[0].dtype in v1): return None
  if (found := own(x=uop)) is not None: return found
  return None

def m009b090beae2b9f3fd95(uop, ctx):
  if not (len(uop.src) == 3 and uop.src[1].op == 59 and uop.src[1].arg == 0): return None
  if uop.src[2].op == 19 and len(uop.src[2].src) == 2 and (found := own(or_cast=uop.src[2], buf=uop.src[2].src[0], idx=uop.src[2].src[1], cond=uop.src[0])) is not None: return found
  if uop.src[2].op == 24 and len(uop.src[2].src) == 1 and uop.src[2].src[0].op == 19 and len(uop.src[2].src[0].src) == 2 and (found := own(or_cast=uop.src[2], buf=uop.src[2].src[0].src[0], idx=uop.src[2].src[0].src[1], cond=uop.src[0])) is not None: return found
  return None

def m022bd843f597b4cb8ee8(uop, ctx):
  if not (len(uop.src) == 1 and uop.src[0].op == 24 and len(uop.src[0].src) == 1 and uop.src[0].dtype in v0 and uop.src[0].src[0].dtype in v1): return None
  if (found := own(b=uop, a=uop.src[0], x=uop.src[0].src[0])) is not None: return found
  return None

def m0243a9385b19e7eb3f75(uop, ctx):
  if not (len(uop.src) == 2): return None
  if uop.src[1].op == 59 and uop.src[1].arg == 1 and (found := own(x=uop.src[0])) is not None: return found
  if uop.src[0].op == 59 and uop.src[0].arg == 1 and (found := own(x=uop.src[1])) is not None: return found
  return None

def m0267e25d659928c578b7(uop, ctx):
  if not (len(uop.src) >= 2): return None
  if (found := own(ctx=ctx, r=uop)) is not None: return found
  return None

def m0342c9e65de492855c6d(uop, ctx):
  if not (len(uop.src) == 2 and uop.src[0].dtype in v0): return None
  if (found := own(x=uop)) is not None: return found
  return None

def m035c805c3aace5193b14(uop, ctx):
  if not (len(uop.src) == 2): return None
  if (found := own(a=uop.src[0], b=uop.src[1])) is not None: return found
  return None

def m036998b20c0fab7b0fdf(uop, ctx):
  if not (len(uop.src) == 2): return None
  if uop.src[0].op == 33 and len(uop.src[0].src) == 2 and uop.src[1].op == 59 and uop.src[0].src[0].dtype == v0 and (found := own(c=uop.src[1], x=uop.src[0].src[0], y=uop.src[0].src[1])) is not None: return found
  if uop.src[0].op == 33 and len(uop.src[0].src) == 2 and uop.src[1].op == 59 and uop.src[0].src[1].dtype == v1 and (found := own(c=uop.src[1], y=uop.src[0].src[0], x=uop.src[0].src[1])) is not None: return found
  if uop.src[0].op == 59 and uop.src[1].op == 33 and len(uop.src[1].src) == 2 and uop.src[1].src[0].dtype == v2 and (found := own(c=uop.src[0], x=uop.src[1].src[0], y=uop.src[1].src[1])) is not None: return found
  if uop.src[0].op == 59 and uop.src[1].op == 33 and len(uop.src[1].src) == 2 and uop.src[1].src[1].dtype == v3 and (found := own(c=uop.src[0], y=uop.src[1].src[0], x=uop.src[1].src[1])) is not None: return found
  return None

def m0516e93457b779843564(uop, ctx):
  if (found := own(after=uop)) is not None: return found
  return None

def m0605b8bf2adffbf20f27(uop, ctx):
  if not (len(uop.src) == 2 and uop.src[0].op == 19 and uop.src[1].op == 21 and len(uop.src[1].src) == 1 and uop.src[1].src[0].op == 19 and uop.src[0] is uop.src[1].src[0]): return None
  if (found := own(index=uop.src[0])) is not None: return found
  return None

def m064d88920cc470548bd3(uop, ctx):
  if not (len(uop.src) == 0): return None
  if (found := own(x=uop)) is not None: return found
  return None

def m0685320c06f9bb4e0aea(uop, ctx):
  if not (len(uop.src) == 2 and uop.src[0].op == 19 and uop.src[1].op == 52 and len(uop.src[1].src) == 3 and uop.src[1].src[2].op == 21 and len(uop.src[1].src[2].src) == 1 and uop.src[1].src[2].src[0].op == 19 and uop.src[0] is uop.src[1].src[2].src[0]): return None
  if (found := own(index=uop.src[0], gate=uop.src[1].src[0], alt=uop.src[1].src[1])) is not None: return found
  return None

def m0731f84cc518e0c1c4ee(uop, ctx):
  if not (len(uop.src) == 2): return None
  if uop.src[0].dtype in v0 and (found := own(x=uop)) is not None: return found
  if uop.src[1].dtype in v1 and (found := own(x=uop)) is not None: return found
  return None

def m07717d20fbcc91c25f82(uop, ctx):
  if not (len(uop.src) == 2 and uop.src[0].op == 76): return None
  if (found := own(root=uop, multi=uop.src[0])) is not None: return found
  return None

def m0803566020aca2e15db8(uop, ctx):
  if not (len(uop.src) == 2 and uop.src[0].op == 19 and len(uop.src[0].src) == 3 and uop.src[0].src[1].op == 52 and len(uop.src[0].src[1].src) == 3 and uop.src[0].src[1].src[2].arg == v0 and uop.src[0].src[2].op == 52 and len(uop.src[0].src[2].src) == 3 and uop.src[0].src[1].src[0] is uop.src[0].src[2].src[0] and uop.src[0].src[2].src[2].arg == v1): return None
  if (found := own(buf=uop.src[0].src[0], gate=uop.src[0].src[1].src[0], idx_y=uop.src[0].src[1].src[1], idx_x=uop.src[0].src[2].src[1], data=uop.src[1])) is not None: return found
  return None

def m08392760bef468ea9d62(uop, ctx):
  if not (len(uop.src) == 2 and uop.src[0].op == 71 and len(uop.src[0].src) >= 1 and uop.src[1].op == 71 and len(uop.src[1].src) >= 1): return None
  if (found := own(dst=uop.src[0].src[0], src=uop.src[1].src[0])) is not None: return found
  return None

def m08753af95713911e57d1(uop, ctx):
  if (found := own(m=uop)) is not None: return found
  return None

def m0890374901328346a70b(uop, ctx):
  if not (len(uop.src) == 3 and uop.src[0].op in v0): return None
  if (found := own(ctx=ctx, x=uop, addr=uop.src[0], alt=uop.src[1], gate=uop.src[2])) is not None: return found
  return None

def m089e839c80d1f62f0a75(uop, ctx):
  if not (uop.arg == 80): return None
  if (found := own(ctx=ctx, x=uop)) is not None: return found
  return None

def m08ec5179a2fc9adc845a(uop, ctx):
  if not (uop.dtype == v0): return None
  if (found := own(ctx=ctx, x=uop)) is not None: return found
  return None

def m08ed200933ab6692ea64(uop, ctx):
  if not (len(uop.src) == 2 and uop.dtype == v0): return None
  if (found := own(x=uop.src[0])) is not None: return found
  return None

def m095c76e7531aea2736a2(uop, ctx):
  if not (len(uop.src) == 2): return None
  if uop.src[0].dtype in v0 and uop.src[1].op == 24 and len(uop.src[1].src) == 1 and uop.src[1].src[0].op == 59 and (found := own(a=uop.src[0], c=uop.src[1])) is not None: return found
  if uop.src[0].op == 24 and len(uop.src[0].src) == 1 and uop.src[0].src[0].op == 59 and uop.src[1].dtype in v1 and (found := own(c=uop.src[0], a=uop.src[1])) is not None: return found
  return None

def m099827d4ecbb2284f32a(uop, ctx):
  if not (len(uop.src) == 1 and uop.src[0].op == 25 and len(uop.src[0].src) == 1): return None
  if (found := own(b=uop, x=uop.src[0].src[0])) is not None: return found
  return None

def m099ba2b575a4779833c8(uop, ctx):
  if not (len(uop.src) >= 1 and uop.src[0].op == 70 and uop.src[0].arg == v0 and len(uop.src[0].src) == 1 and uop.src[0].src[0].op == 8): return None
  if (found := own(ctx=ctx, call=uop, ast=uop.src[0].src[0])) is not None: return found
  return None

def m0a357ca8c47978b89655(uop, ctx):
  if not (len(uop.src) == 2 and uop.src[0].op == 19 and len(uop.src[0].src) == 3 and uop.src[1].dtype == v0): return None
  if (found := own(ctx=ctx, buf=uop.src[0].src[0], idx_y=uop.src[0].src[1], idx_x=uop.src[0].src[2], var=uop.src[1])) is not None: return found
  return None

def m0ba837ed69d845d65229(uop, ctx):
  if not (len(uop.src) == 3 and uop.src[0].op == 42): return None
  if (found := own(m=uop.src[0], a=uop.src[1], b=uop.src[2])) is not None: return found
  return None

def m0c61b41c0ce123a066dc(uop, ctx):
  if not (len(uop.src) == 1 and uop.dtype == v0 and uop.src[0].op == 56): return None
  if (found := own()) is not None: return found
  return None

def m0cca717ee31f8e704a74(uop, ctx):
  if not (len(uop.src) == 2 and uop.dtype == v0): return None
  if (found := own(x=uop.src[0], y=uop.src[1])) is not None: return found
  return None

def m0e2a795d02b9f5b4bc02(uop, ctx):
  if not (len(uop.src) == 1 and uop.dtype in v0 and uop.src[0].dtype in v1): return None
  if (found := own(x=uop)) is not None: return found
  return None

def m0eecd32ed46698889c05(uop, ctx):
  if (found := own(ctx=ctx, after=uop)) is not None: return found
  return None

def m0f29d5e1c3f8c20f29bf(uop, ctx):
  if not (len(uop.src) == 2 and uop.dtype == v0 and uop.src[0].op == 34 and len(uop.src[0].src) == 2 and uop.src[1].op == 34 and len(uop.src[1].src) == 2): return None
  if uop.src[0].src[0].dtype == v1 and uop.src[0].src[1].op == 59 and uop.src[0].src[1].arg == -1 and uop.src[1].src[1].op == 59 and uop.src[1].src[1].arg == -1 and (found := own(x=uop.src[0].src[0], y=uop.src[1].src[0])) is not None: return found
  if uop.src[0].src[0].dtype == v1 and uop.src[0].src[1].op == 59 and uop.src[0].src[1].arg == -1 and uop.src[1].src[0].op == 59 and uop.src[1].src[0].arg == -1 and (found := own(x=uop.src[0].src[0], y=uop.src[1].src[1])) is not None: return found
  if uop.src[0].src[0].op == 59 and uop.src[0].src[0].arg == -1 and uop.src[0].src[1].dtype == v2 and uop.src[1].src[1].op == 59 and uop.src[1].src[1].arg == -1 and (found := own(x=uop.src[0].src[1], y=uop.src[1].src[0])) is not None: return found
  if uop.src[0].src[0].op == 59 and uop.src[0].src[0].arg == -1 and uop.src[0].src[1].dtype == v2 and uop.src[1].src[0].op == 59 and uop.src[1].src[0].arg == -1 and (found := own(x=uop.src[0].src[1], y=uop.src[1].src[1])) is not None: return found
  return None

def m0f83d1d8c8d179ded3fd(uop, ctx):
  if not (len(uop.src) == 1): return None
  if (found := own(c=uop, x=uop.src[0])) is not None: return found
  return None

def m10787f879675475755cc(uop, ctx):
  if not (len(uop.src) == 3 and uop.src[2].op == 52 and len(uop.src[2].src) == 3 and uop.src[1] is uop.src[2].src[1]): return None
  if (found := own(a=uop.src[0], c=uop.src[1], b=uop.src[2].src[0], d=uop.src[2].src[2])) is not None: return found
  return None

def m110b4e96cce692bd381a(uop, ctx):
  if not (len(uop.src) == 1 and uop.dtype == v0 and uop.src[0].op == 24 and len(uop.src[0].src) == 1 and uop.src[0].dtype == v1 and uop.src[0].src[0].dtype == v2): return None
  if (found := own(x=uop.src[0].src[0])) is not None: return found
  return None

def m1118e6754821993972d2(uop, ctx):
  if not (len(uop.src) == 2 and uop.src[0].dtype in v0): return None
  if (found := own(ctx=ctx, x=uop)) is not None: return found
  return None

def m1138197d2881cf0458d1(uop, ctx):
  if not (len(uop.src) == 2 and uop.src[1].op == 24 and len(uop.src[1].src) == 1 and uop.src[1].src[0].op == 59): return None
  if (found := own(ctx=ctx, x=uop, buf=uop.src[0], c=uop.src[1].src[0])) is not None: return found
  return None

def m1248609753b3664b567a(uop, ctx):
  if (found := own(ctx=ctx, l=uop)) is not None: return found
  return None

def m125d1191df8d783baadb(uop, ctx):
  if not (len(uop.src) >= 1 and uop.src[0].op in v0): return None
  if (found := own(view=uop, c=uop.src[0])) is not None: return found
  return None

def m1263fb96ccb55be37d70(uop, ctx):
  if not (len(uop.src) == 2 and uop.src[0].dtype in v0 and uop.src[1].op == 24 and len(uop.src[1].src) == 1 and uop.src[1].src[0].op == 59): return None
  if (found := own(a=uop.src[0], c=uop.src[1].src[0])) is not None: return found
  return None

def m127f6e346c0ba4a58685(uop, ctx):
  if not (len(uop.src) == 2): return None
  if uop.src[0].op == 59 and uop.src[0].arg == -1 and uop.src[1].op == 33 and len(uop.src[1].src) == 2 and uop.src[1].src[1].op == 59 and (found := own(x=uop.src[1].src[0], c=uop.src[1].src[1])) is not None: return found
  if uop.src[0].op == 59 and uop.src[0].arg == -1 and uop.src[1].op == 33 and len(uop.src[1].src) == 2 and uop.src[1].src[0].op == 59 and (found := own(c=uop.src[1].src[0], x=uop.src[1].src[1])) is not None: return found
  if uop.src[0].op == 33 and len(uop.src[0].src) == 2 and uop.src[1].op == 59 and uop.src[1].arg == -1 and uop.src[0].src[1].op == 59 and (found := own(x=uop.src[0].src[0], c=uop.src[0].src[1])) is not None: return found
  if uop.src[0].op == 33 and len(uop.src[0].src) == 2 and uop.src[1].op == 59 and uop.src[1].arg == -1 and uop.src[0].src[0].op == 59 and (found := own(c=uop.src[0].src[0], x=uop.src[0].src[1])) is not None: return found
  return None

def m1480cbca61feef5a3db1(uop, ctx):
  if not (uop.dtype in v0): return None
  if (found := own(x=uop)) is not None: return found
  return None

def m14c7655f80e6d377f1f8(uop, ctx):
  if not (len(uop.src) == 2): return None
  if (found := own(out=uop, x=uop.src[0])) is not None: return found
  return None

def m1521cb4baf400e2d4b62(uop, ctx):
  if not (len(uop.src) == 2): return None
  if uop.src[1].op == 59 and uop.src[1].arg == 0 and (found := own(x=uop.src[0])) is not None: return found
  if uop.src[0].op == 59 and uop.src[0].arg == 0 and (found := own(x=uop.src[1])) is not None: return found
  return None

def m157d8e79e55722033a5d(uop, ctx):
  if not (len(uop.src) == 2 and uop.src[0].op == 52 and len(uop.src[0].src) == 3 and uop.src[0].src[2].op == 59 and uop.src[0].src[2].arg == v0): return None
  if (found := own(alu=uop, cond=uop.src[0].src[0], x=uop.src[0].src[1], i=uop.src[0].src[2], y=uop.src[1])) is not None: return found
  return None

def m15b59ae21176be8f0001(uop, ctx):
  if not (len(uop.src) == 3 and uop.dtype == v0 and uop.src[0].dtype == v1 and uop.src[1].op == 59 and uop.src[1].arg == 0 and uop.src[1].dtype == v2 and uop.src[2].op == 59 and uop.src[2].arg == 1 and uop.src[2].dtype == v3): return None
  if (found := own(x=uop.src[0])) is not None: return found
  return None

def m15bb6bddf9dacd21c6bb(uop, ctx):
  if not (len(uop.src) == 2 and uop.src[1].op == 55): return None
  if (found := own(b=uop.src[0])) is not None: return found
  return None

def m15efdeb0bb7f1b498067(uop, ctx):
  if not (len(uop.src) >= 1 and uop.src[0].op == 8): return None
  if (found := own(call=uop, prg=uop.src[0])) is not None: return found
  return None

def m1615d7be6be9119acd8b(uop, ctx):
  if not (len(uop.src) == 2 and uop.dtype == v0): return None
  if uop.src[0].dtype == v1 and uop.src[1].dtype == v2 and (found := own(x=uop.src[0], y=uop.src[1])) is not None: return found
  if uop.src[0].dtype == v3 and uop.src[1].dtype == v4 and (found := own(y=uop.src[0], x=uop.src[1])) is not None: return found
  return None

def m165ce41db33cc0cbbda2(uop, ctx):
  if not (len(uop.src) == 2): return None
  if uop.src[0].op == 33 and len(uop.src[0].src) == 2 and uop.src[1].op == 59 and uop.src[0].src[1].op == 59 and (found := own(c2=uop.src[1], x=uop.src[0].src[0], c1=uop.src[0].src[1], f=uop)) is not None: return found
  if uop.src[0].op == 33 and len(uop.src[0].src) == 2 and uop.src[1].op == 59 and uop.src[0].src[0].op == 59 and (found := own(c2=uop.src[1], c1=uop.src[0].src[0], x=uop.src[0].src[1], f=uop)) is not None: return found
  if uop.src[0].op == 59 and uop.src[1].op == 33 and len(uop.src[1].src) == 2 and uop.src[1].src[1].op == 59 and (found := own(c2=uop.src[0], x=uop.src[1].src[0], c1=uop.src[1].src[1], f=uop)) is not None: return found
  if uop.src[0].op == 59 and uop.src[1].op == 33 and len(uop.src[1].src) == 2 and uop.src[1].src[0].op == 59 and (found := own(c2=uop.src[0], c1=uop.src[1].src[0], x=uop.src[1].src[1], f=uop)) is not None: return found
  return None

def m1662e08ac8ba9b4b6c83(uop, ctx):
  if not (len(uop.src) == 2): return None
  if uop.src[0].op in v0 and (found := own(uidx=uop.src[0])) is not None: return found
  if uop.src[0].op == 24 and len(uop.src[0].src) == 1 and uop.src[0].src[0].op in v1 and (found := own(uidx=uop.src[0].src[0])) is not None: return found
  return None

def m179bdd806876dd8cca1a(uop, ctx):
  if not (len(uop.src) == 1 and uop.dtype == v0 and uop.src[0].dtype == v1): return None
  if (found := own(x=uop.src[0])) is not None: return found
  return None

def m19d642c409f473bf638f(uop, ctx):
  if not (len(uop.src) >= 1 and uop.src[0].op in v0): return None
  if (found := own(ctx=ctx, a=uop)) is not None: return found
  return None

def m1acc7278c0e713077f78(uop, ctx):
  if not (len(uop.src) == 1): return None
  if (found := own(b=uop.src[0])) is not None: return found
  return None

def m1baee5567070545b2c7d(uop, ctx):
  if not (len(uop.src) == 2): return None
  if uop.src[0].op == 33 and len(uop.src[0].src) == 2 and uop.src[1] is uop.src[0].src[1] and (found := own(x=uop.src[1], y=uop.src[0].src[0])) is not None: return found
  if uop.src[0].op == 33 and len(uop.src[0].src) == 2 and uop.src[1] is uop.src[0].src[0] and (found := own(x=uop.src[1], y=uop.src[0].src[1])) is not None: return found
  if uop.src[1].op == 33 and len(uop.src[1].src) == 2 and uop.src[0] is uop.src[1].src[1] and (found := own(x=uop.src[0], y=uop.src[1].src[0])) is not None: return found
  if uop.src[1].op == 33 and len(uop.src[1].src) == 2 and uop.src[0] is uop.src[1].src[0] and (found := own(x=uop.src[0], y=uop.src[1].src[1])) is not None: return found
  return None

def m1c76ab803bf85a7adf5a(uop, ctx):
  if not (uop.arg == v0 and len(uop.src) == 2): return None
  if uop.src[0].op == 52 and len(uop.src[0].src) == 3 and uop.src[0].src[0].op == 40 and len(uop.src[0].src[0].src) == 2 and uop.src[0].src[0].dtype == v1 and uop.src[0].src[0].src[0].op == 55 and uop.src[0].src[2].op == 59 and uop.src[0].src[2].arg == 0 and uop.src[0].src[0].src[0] is uop.src[1] and (found := own(r=uop.src[0].src[0].src[0], upper=uop.src[0].src[0].src[1], val=uop.src[0].src[1])) is not None: return found
  if uop.src[0].op == 52 and len(uop.src[0].src) == 3 and uop.src[0].src[0].op == 40 and len(uop.src[0].src[0].src) == 2 and uop.src[0].src[0].dtype == v2 and uop.src[0].src[0].src[0].op == 55 and uop.src[0].src[1].op == 59 and uop.src[0].src[1].arg == 0 and uop.src[0].src[0].src[0] is uop.src[1] and (found := own(r=uop.src[0].src[0].src[0], lower=uop.src[0].src[0].src[1], val=uop.src[0].src[2])) is not None: return found
  if uop.src[0].op == 52 and len(uop.src[0].src) == 3 and uop.src[0].src[0].op == 45 and len(uop.src[0].src[0].src) == 2 and uop.src[0].src[0].dtype == v3 and uop.src[0].src[2].op == 59 and uop.src[0].src[2].arg == 0 and uop.src[0].src[0].src[0].op == 41 and len(uop.src[0].src[0].src[0].src) == 2 and uop.src[0].src[0].src[0].dtype == v4 and uop.src[0].src[0].src[1].op == 40 and len(uop.src[0].src[0].src[1].src) == 2 and uop.src[0].src[0].src[1].dtype == v7 and uop.src[0].src[0].src[1].src[0].op == 55 and uop.src[0].src[0].src[0].src[0].op == 40 and len(uop.src[0].src[0].src[0].src[0].src) == 2 and uop.src[0].src[0].src[0].src[0].dtype == v5 and uop.src[0].src[0].src[0].src[1].op == 59 and uop.src[0].src[0].src[0].src[1].arg == 1 and uop.src[0].src[0].src[1].src[0] is uop.src[0].src[0].src[0].src[0].src[0] and uop.src[0].src[0].src[1].src[0] is uop.src[1] and (found := own(val=uop.src[0].src[1], r=uop.src[0].src[0].src[1].src[0], upper=uop.src[0].src[0].src[1].src[1], lower=uop.src[0].src[0].src[0].src[0].src[1])) is not None: return found
  if uop.src[0].op == 52 and len(uop.src[0].src) == 3 and uop.src[0].src[0].op == 45 and len(uop.src[0].src[0].src) == 2 and uop.src[0].src[0].dtype == v3 and uop.src[0].src[2].op == 59 and uop.src[0].src[2].arg == 0 and uop.src[0].src[0].src[0].op == 41 and len(uop.src[0].src[0].src[0].src) == 2 and uop.src[0].src[0].src[0].dtype == v4 and uop.src[0].src[0].src[1].op == 40 and len(uop.src[0].src[0].src[1].src) == 2 and uop.src[0].src[0].src[1].dtype == v7 and uop.src[0].src[0].src[1].src[0].op == 55 and uop.src[0].src[0].src[0].src[0].op == 59 and uop.src[0].src[0].src[0].src[0].arg == 1 and uop.src[0].src[0].src[0].src[1].op == 40 and len(uop.src[0].src[0].src[0].src[1].src) == 2 and uop.src[0].src[0].src[0].src[1].dtype == v6 and uop.src[0].src[0].src[1].src[0] is uop.src[0].src[0].src[0].src[1].src[0] and uop.src[0].src[0].src[1].src[0] is uop.src[1] and (found := own(val=uop.src[0].src[1], r=uop.src[0].src[0].src[1].src[0], upper=uop.src[0].src[0].src[1].src[1], lower=uop.src[0].src[0].src[0].src[1].src[1])) is not None: return found
  if uop.src[0].op == 52 and len(uop.src[0].src) == 3 and uop.src[0].src[0].op == 45 and len(uop.src[0].src[0].src) == 2 and uop.src[0].src[0].dtype == v3 and uop.src[0].src[2].op == 59 and uop.src[0].src[2].arg == 0 and uop.src[0].src[0].src[0].op == 40 and len(uop.src[0].src[0].src[0].src) == 2 and uop.src[0].src[0].src[0].dtype == v8 and uop.src[0].src[0].src[0].src[0].op == 55 and uop.src[0].src[0].src[1].op == 41 and len(uop.src[0].src[0].src[1].src) == 2 and uop.src[0].src[0].src[1].dtype == v9 and uop.src[0].src[0].src[1].src[0].op == 40 and len(uop.src[0].src[0].src[1].src[0].src) == 2 and uop.src[0].src[0].src[1].src[0].dtype == v10 and uop.src[0].src[0].src[1].src[1].op == 59 and uop.src[0].src[0].src[1].src[1].arg == 1 and uop.src[0].src[0].src[0].src[0] is uop.src[0].src[0].src[1].src[0].src[0] and uop.src[0].src[0].src[0].src[0] is uop.src[1] and (found := own(val=uop.src[0].src[1], r=uop.src[0].src[0].src[0].src[0], upper=uop.src[0].src[0].src[0].src[1], lower=uop.src[0].src[0].src[1].src[0].src[1])) is not None: return found
  if uop.src[0].op == 52 and len(uop.src[0].src) == 3 and uop.src[0].src[0].op == 45 and len(uop.src[0].src[0].src) == 2 and uop.src[0].src[0].dtype == v3 and uop.src[0].src[2].op == 59 and uop.src[0].src[2].arg == 0 and uop.src[0].src[0].src[0].op == 40 and len(uop.src[0].src[0].src[0].src) == 2 and uop.src[0].src[0].src[0].dtype == v8 and uop.src[0].src[0].src[0].src[0].op == 55 and uop.src[0].src[0].src[1].op == 41 and len(uop.src[0].src[0].src[1].src) == 2 and uop.src[0].src[0].src[1].dtype == v9 and uop.src[0].src[0].src[1].src[0].op == 59 and uop.src[0].src[0].src[1].src[0].arg == 1 and uop.src[0].src[0].src[1].src[1].op == 40 and len(uop.src[0].src[0].src[1].src[1].src) == 2 and uop.src[0].src[0].src[1].src[1].dtype == v11 and uop.src[0].src[0].src[0].src[0] is uop.src[0].src[0].src[1].src[1].src[0] and uop.src[0].src[0].src[0].src[0] is uop.src[1] and (found := own(val=uop.src[0].src[1], r=uop.src[0].src[0].src[0].src[0], upper=uop.src[0].src[0].src[0].src[1], lower=uop.src[0].src[0].src[1].src[1].src[1])) is not None: return found
  return None

def m1ca3a54d79611736cba2(uop, ctx):
  if not (len(uop.src) == 1): return None
  if (found := own(ctx=ctx, bc=uop, x=uop.src[0])) is not None: return found
  return None

def m1d4713fed78c9ba83dab(uop, ctx):
  if not (len(uop.src) == 1 and uop.src[0].op == 59): return None
  if (found := own(ctx=ctx, x=uop, c=uop.src[0])) is not None: return found
  return None

def m1e0562d1b0e273e7e266(uop, ctx):
  if not (uop.arg == v0 and len(uop.src) == 2 and uop.src[0].op == 52 and len(uop.src[0].src) == 3 and uop.src[0].src[0].op == 41 and len(uop.src[0].src[0].src) == 2 and uop.src[0].src[0].dtype == v1 and uop.src[0].src[1].op == 59 and uop.src[0].src[1].arg == 0): return None
  if uop.src[0].src[0].src[1].op == 55 and uop.src[0].src[0].src[1] is uop.src[1] and (found := own(idx=uop.src[0].src[0].src[0], r=uop.src[0].src[0].src[1], expr=uop.src[0].src[2])) is not None: return found
  if uop.src[0].src[0].src[1].op == 24 and len(uop.src[0].src[0].src[1].src) == 1 and uop.src[0].src[0].src[1].src[0].op == 55 and uop.src[0].src[0].src[1].src[0] is uop.src[1] and (found := own(idx=uop.src[0].src[0].src[0], r=uop.src[0].src[0].src[1].src[0], expr=uop.src[0].src[2])) is not None: return found
  if uop.src[0].src[0].src[0].op == 55 and uop.src[0].src[0].src[0] is uop.src[1] and (found := own(idx=uop.src[0].src[0].src[1], r=uop.src[0].src[0].src[0], expr=uop.src[0].src[2])) is not None: return found
  if uop.src[0].src[0].src[0].op == 24 and len(uop.src[0].src[0].src[0].src) == 1 and uop.src[0].src[0].src[0].src[0].op == 55 and uop.src[0].src[0].src[0].src[0] is uop.src[1] and (found := own(idx=uop.src[0].src[0].src[1], r=uop.src[0].src[0].src[0].src[0], expr=uop.src[0].src[2])) is not None: return found
  return None

def m1ebb9307c58f10ccb450(uop, ctx):
  if not (len(uop.src) == 2 and uop.dtype == v0 and uop.src[0].op == 34 and len(uop.src[0].src) == 2 and uop.src[0].dtype == v1 and uop.src[1].op == 59): return None
  if uop.src[0].src[0].op == 59 and uop.src[0].src[1].dtype == v2 and (found := own(c0=uop.src[0].src[0], x=uop.src[0].src[1], c1=uop.src[1])) is not None: return found
  if uop.src[0].src[0].dtype == v3 and uop.src[0].src[1].op == 59 and (found := own(x=uop.src[0].src[0], c0=uop.src[0].src[1], c1=uop.src[1])) is not None: return found
  return None

def m1f3a0c080b6eab4f0ff2(uop, ctx):
  if not (len(uop.src) >= 1 and uop.src[0].op == 8): return None
  if (found := own(ctx=ctx, call=uop, prg=uop.src[0])) is not None: return found
  return None

def m1fec7c1405aec57a0f07(uop, ctx):
  if not (len(uop.src) == 2 and uop.src[0].op == 19 and uop.src[0].dtype == v0 and uop.src[1].dtype == v1): return None
  if (found := own(x=uop.src[0], d=uop.src[1])) is not None: return found
  return None

def m1fef789708bc788dd1ff(uop, ctx):
  if (found := own(ctx=ctx)) is not None: return found
  return None

def m20e9e84877fffe9241e7(uop, ctx):
  if (found := own(ctx=ctx, idx=uop)) is not None: return found
  return None

def m20f66f4ab45f1583468e(uop, ctx):
  if (found := own(u=uop)) is not None: return found
  return None

def m20ff2cf38bb94f5d31cf(uop, ctx):
  if not (len(uop.src) == 2 and uop.dtype == v0): return None
  if uop.src[0].dtype == v1 and (found := own(x=uop.src[0], y=uop.src[1])) is not None: return found
  if uop.src[1].dtype == v2 and (found := own(y=uop.src[0], x=uop.src[1])) is not None: return found
  return None

def m217de481a3d8f41d936a(uop, ctx):
  if not (len(uop.src) == 1 and uop.src[0].dtype == v0): return None
  if (found := own(s=uop, x=uop.src[0])) is not None: return found
  return None

def m21895a46eaca4252167f(uop, ctx):
  if not (len(uop.src) == 2 and uop.src[1].op == 59 and uop.src[1].arg == v0): return None
  if (found := own(i=uop.src[1])) is not None: return found
  return None

def m21f10ae367a5a1f3ac2f(uop, ctx):
  if not (len(uop.src) == 1 and uop.dtype == v0 and uop.src[0].dtype in v1): return None
  if (found := own(ctx=ctx, x=uop, y=uop.src[0])) is not None: return found
  return None

def m22053c8a4414f90a9d3e(uop, ctx):
  if not (len(uop.src) == 2): return None
  if uop.src[0].op == 33 and len(uop.src[0].src) == 2 and uop.src[1].op == 34 and len(uop.src[1].src) == 2 and uop.src[1].src[1].op == 59 and uop.src[0].src[1] is uop.src[1].src[0] and (found := own(y=uop.src[0].src[0], x=uop.src[0].src[1], c=uop.src[1].src[1])) is not None: return found
  if uop.src[0].op == 33 and len(uop.src[0].src) == 2 and uop.src[1].op == 34 and len(uop.src[1].src) == 2 and uop.src[1].src[0].op == 59 and uop.src[0].src[1] is uop.src[1].src[1] and (found := own(y=uop.src[0].src[0], x=uop.src[0].src[1], c=uop.src[1].src[0])) is not None: return found
  if uop.src[0].op == 33 and len(uop.src[0].src) == 2 and uop.src[1].op == 34 and len(uop.src[1].src) == 2 and uop.src[1].src[1].op == 59 and uop.src[0].src[0] is uop.src[1].src[0] and (found := own(x=uop.src[0].src[0], y=uop.src[0].src[1], c=uop.src[1].src[1])) is not None: return found
  if uop.src[0].op == 33 and len(uop.src[0].src) == 2 and uop.src[1].op == 34 and len(uop.src[1].src) == 2 and uop.src[1].src[0].op == 59 and uop.src[0].src[0] is uop.src[1].src[1] and (found := own(x=uop.src[0].src[0], y=uop.src[0].src[1], c=uop.src[1].src[0])) is not None: return found
  if uop.src[0].op == 34 and len(uop.src[0].src) == 2 and uop.src[1].op == 33 and len(uop.src[1].src) == 2 and uop.src[0].src[1].op == 59 and uop.src[0].src[0] is uop.src[1].src[1] and (found := own(x=uop.src[0].src[0], c=uop.src[0].src[1], y=uop.src[1].src[0])) is not None: return found
  if uop.src[0].op == 34 and len(uop.src[0].src) == 2 and uop.src[1].op == 33 and len(uop.src[1].src) == 2 and uop.src[0].src[1].op == 59 and uop.src[0].src[0] is uop.src[1].src[0] and (found := own(x=uop.src[0].src[0], c=uop.src[0].src[1], y=uop.src[1].src[1])) is not None: return found
  if uop.src[0].op == 34 and len(uop.src[0].src) == 2 and uop.src[1].op == 33 and len(uop.src[1].src) == 2 and uop.src[0].src[0].op == 59 and uop.src[0].src[1] is uop.src[1].src[1] and (found := own(c=uop.src[0].src[0], x=uop.src[0].src[1], y=uop.src[1].src[0])) is not None: return found
  if uop.src[0].op == 34 and len(uop.src[0].src) == 2 and uop.src[1].op == 33 and len(uop.src[1].src) == 2 and uop.src[0].src[0].op == 59 and uop.src[0].src[1] is uop.src[1].src[0] and (found := own(c=uop.src[0].src[0], x=uop.src[0].src[1], y=uop.src[1].src[1])) is not None: return found
  return None

def m229fcd28f92b4b7cec49(uop, ctx):
  if not (len(uop.src) >= 2 and uop.src[1].dtype in v0): return None
  if (found := own(u=uop)) is not None: return found
  return None

def m237abaa7e4ee37ce09e9(uop, ctx):
  if not (len(uop.src) == 1): return None
  if (found := own(mv=uop)) is not None: return found
  return None

def m25de1ecaa589bf4cbdb9(uop, ctx):
  if (found := own(red=uop)) is not None: return found
  return None

def m25e177f40c5e39168aa5(uop, ctx):
  if not (len(uop.src) >= 1 and uop.src[0].op in v0): return None
  if (found := own()) is not None: return found
  return None

def m267f958b437b54c7582c(uop, ctx):
  if not (len(uop.src) == 2 and uop.dtype == v0): return None
  if uop.src[0].op == 40 and len(uop.src[0].src) == 2 and uop.src[0].dtype == v1 and uop.src[0].src[0].op == 59 and uop.src[0].src[1].dtype in v2 and uop.src[1].op == 40 and len(uop.src[1].src) == 2 and uop.src[1].dtype == v3 and uop.src[0].src[1] is uop.src[1].src[0] and uop.src[1].src[0].dtype in v4 and uop.src[1].src[1].op == 59 and (found := own(c1=uop.src[0].src[0], x=uop.src[0].src[1], c2=uop.src[1].src[1])) is not None: return found
  if uop.src[0].op == 40 and len(uop.src[0].src) == 2 and uop.src[0].dtype == v5 and uop.src[0].src[0].dtype in v6 and uop.src[0].src[1].op == 59 and uop.src[1].op == 40 and len(uop.src[1].src) == 2 and uop.src[1].dtype == v7 and uop.src[1].src[0].op == 59 and uop.src[0].src[0] is uop.src[1].src[1] and uop.src[1].src[1].dtype in v8 and (found := own(x=uop.src[0].src[0], c2=uop.src[0].src[1], c1=uop.src[1].src[0])) is not None: return found
  return None

def m2684dc928126aaa33d82(uop, ctx):
  if not (len(uop.src) == 3 and uop.src[1].op == 52 and len(uop.src[1].src) == 3 and uop.src[1].src[2] is uop.src[2]): return None
  if (found := own(a=uop.src[0], b=uop.src[1].src[0], c=uop.src[1].src[1], d=uop.src[1].src[2])) is not None: return found
  return None

def m26be1bc84ca955a2cbd3(uop, ctx):
  if not (len(uop.src) == 1 and uop.dtype in v0 and uop.src[0].dtype == v1): return None
  if (found := own(x=uop, y=uop.src[0])) is not None: return found
  return None

def m26c1ee10b38f3169bde6(uop, ctx):
  if not (len(uop.src) >= 1): return None
  if (found := own(x=uop)) is not None: return found
  return None

def m26e70a09d43af71746f9(uop, ctx):
  if not (len(uop.src) >= 1 and uop.src[0].op == 3 and len(uop.src[0].src) == 1 and uop.src[0].src[0].op == 19 and len(uop.src[0].src[0].src) >= 1 and uop.src[0].src[0].src[0].op == 66): return None
  if (found := own(b2=uop, idx=uop.src[0].src[0])) is not None: return found
  return None

def m27459ee066d2fcb0080b(uop, ctx):
  if not (len(uop.src) == 1): return None
  if (found := own(reduce=uop, x=uop.src[0])) is not None: return found
  return None

def m28e3c735c04c34c90f5a(uop, ctx):
  if not (len(uop.src) == 3 and uop.src[2].op == 59 and uop.src[2].arg == v0): return None
  if (found := own(w=uop, cond=uop.src[0], x=uop.src[1], i=uop.src[2])) is not None: return found
  return None

def m293d508edfede9b565c8(uop, ctx):
  if not (len(uop.src) == 2 and uop.dtype == v0 and uop.src[0].op == 50 and len(uop.src[0].src) == 2 and uop.src[0].src[0].dtype == v1 and uop.src[0].src[1].op == 59 and uop.src[1].op == 59): return None
  if (found := own(x=uop.src[0].src[0], d=uop.src[0].src[1], c=uop.src[1])) is not None: return found
  return None

def m295502613f9c86d36d93(uop, ctx):
  if not (len(uop.src) == 1 and uop.src[0].op == 59): return None
  if (found := own(x=uop)) is not None: return found
  return None

def m2a34b60449919d45ab4e(uop, ctx):
  if not (uop.tag in v0): return None
  if (found := own(x=uop)) is not None: return found
  return None

def m2aa4ba663ec27e6aae61(uop, ctx):
  if not (len(uop.src) == 1): return None
  if (found := own(x=uop, y=uop.src[0])) is not None: return found
  return None

def m2aab5b6a4a2334f7ae37(uop, ctx):
  if not (len(uop.src) == 2): return None
  if uop.src[0].dtype == v0 and (found := own(x=uop.src[0], y=uop.src[1])) is not None: return found
  if uop.src[1].dtype == v1 and (found := own(y=uop.src[0], x=uop.src[1])) is not None: return found
  return None

def m2ac9a1fa8042d30c91f1(uop, ctx):
  if (found := own(ctx=ctx, alu=uop)) is not None: return found
  return None

def m2ad5f20dbd2b0e10675d(uop, ctx):
  if not (len(uop.src) >= 1): return None
  if (found := own(rng=uop, x=uop.src[0])) is not None: return found
  return None

def m2bb203a8f673c331bf50(uop, ctx):
  if not (len(uop.src) == 1 and uop.src[0].op == 59): return None
  if (found := own(root=uop, c=uop.src[0])) is not None: return found
  return None

def m2d9a90c82d645e1c9482(uop, ctx):
  if not (len(uop.src) == 2): return None
  if (found := own(ctx=ctx, idx=uop.src[0], var=uop.src[1])) is not None: return found
  return None

def m2ed90d5fe864499129e0(uop, ctx):
  if not (len(uop.src) == 1 and uop.src[0].op == 59 and uop.src[0].dtype in v0): return None
  if (found := own(c=uop.src[0])) is not None: return found
  return None

def m2f198a40ba45fed865d5(uop, ctx):
  if not (len(uop.src) >= 1 and uop.src[0].op == 70 and uop.src[0].arg == v0): return None
  if (found := own(call=uop)) is not None: return found
  return None

def m2f3af1ff5a5c490b46af(uop, ctx):
  if not (len(uop.src) == 1): return None
  if (found := own(x=uop)) is not None: return found
  return None

def m2f5f58ac5b9d400de9c7(uop, ctx):
  if not (len(uop.src) == 2 and uop.src[1].op == 52 and len(uop.src[1].src) == 3 and uop.src[1].src[2].op == 59 and uop.src[1].src[2].arg == v0): return None
  if (found := own(buf=uop.src[0], cond=uop.src[1].src[0], x=uop.src[1].src[1], i=uop.src[1].src[2])) is not None: return found
  return None

def m31232173bea11b459f57(uop, ctx):
  if not (len(uop.src) == 3 and uop.src[1].op == 55 and uop.src[2].dtype == v0): return None
  if (found := own(ctx=ctx, c=uop.src[2])) is not None: return found
  return None

def m3127f018af165bda73ec(uop, ctx):
  if not (len(uop.src) == 2): return None
  if uop.src[0].op == 34 and len(uop.src[0].src) == 2 and uop.src[1].op == 30 and len(uop.src[1].src) == 1 and uop.src[1].src[0].op == 59 and uop.src[1].src[0].arg == 0 and uop.src[0].src[1].op == 59 and uop.src[0].src[1].arg == 0 and (found := own(x=uop.src[0].src[0])) is not None: return found
  if uop.src[0].op == 34 and len(uop.src[0].src) == 2 and uop.src[1].op == 30 and len(uop.src[1].src) == 1 and uop.src[1].src[0].op == 59 and uop.src[1].src[0].arg == 0 and uop.src[0].src[0].op == 59 and uop.src[0].src[0].arg == 0 and (found := own(x=uop.src[0].src[1])) is not None: return found
  if uop.src[0].op == 30 and len(uop.src[0].src) == 1 and uop.src[0].src[0].op == 59 and uop.src[0].src[0].arg == 0 and uop.src[1].op == 34 and len(uop.src[1].src) == 2 and uop.src[1].src[1].op == 59 and uop.src[1].src[1].arg == 0 and (found := own(x=uop.src[1].src[0])) is not None: return found
  if uop.src[0].op == 30 and len(uop.src[0].src) == 1 and uop.src[0].src[0].op == 59 and uop.src[0].src[0].arg == 0 and uop.src[1].op == 34 and len(uop.src[1].src) == 2 and uop.src[1].src[0].op == 59 and uop.src[1].src[0].arg == 0 and (found := own(x=uop.src[1].src[1])) is not None: return found
  return None

def m31a357da0ae81a6fe891(uop, ctx):
  if not (len(uop.src) == 2): return None
  if uop.src[0].op == 38 and len(uop.src[0].src) == 2 and uop.src[1].op == 59 and uop.src[0].src[1].op == 59 and (found := own(c2=uop.src[1], x=uop.src[0].src[0], c1=uop.src[0].src[1], f=uop)) is not None: return found
  if uop.src[0].op == 38 and len(uop.src[0].src) == 2 and uop.src[1].op == 59 and uop.src[0].src[0].op == 59 and (found := own(c2=uop.src[1], c1=uop.src[0].src[0], x=uop.src[0].src[1], f=uop)) is not None: return found
  if uop.src[0].op == 59 and uop.src[1].op == 38 and len(uop.src[1].src) == 2 and uop.src[1].src[1].op == 59 and (found := own(c2=uop.src[0], x=uop.src[1].src[0], c1=uop.src[1].src[1], f=uop)) is not None: return found
  if uop.src[0].op == 59 and uop.src[1].op == 38 and len(uop.src[1].src) == 2 and uop.src[1].src[0].op == 59 and (found := own(c2=uop.src[0], c1=uop.src[1].src[0], x=uop.src[1].src[1], f=uop)) is not None: return found
  return None

def m32771a5d618a5604ff6c(uop, ctx):
  if not (len(uop.src) == 2 and uop.src[1].op == 9): return None
  if (found := own(ctx=ctx, prg=uop, lin=uop.src[1])) is not None: return found
  return None

def m33696bbac908900a3546(uop, ctx):
  if not (uop.tag == v0): return None
  if (found := own(ctx=ctx, b=uop)) is not None: return found
  return None

def m34206ea3155ab00090cd(uop, ctx):
  if not (len(uop.src) == 2 and uop.src[1].op == 59 and uop.src[1].arg == 0): return None
  if (found := own(x=uop.src[0])) is not None: return found
  return None

def m34beeb33dff014d775ca(uop, ctx):
  if not (len(uop.src) == 2 and uop.dtype == v0 and uop.src[0].op == 2 and uop.src[1].op == 59): return None
  if (found := own(b=uop.src[0])) is not None: return found
  return None

def m34c4967b3ed5c0b749b5(uop, ctx):
  if not (len(uop.src) == 2): return None
  if uop.src[1].op == 34 and len(uop.src[1].src) == 2 and uop.src[1].src[0].op == 30 and len(uop.src[1].src[0].src) == 1 and uop.src[1].src[0].src[0].op == 33 and len(uop.src[1].src[0].src[0].src) == 2 and uop.src[1].src[0].src[0].src[0].op == 59 and uop.src[1].src[0].src[0].src[0].arg == 1 and uop.src[0] is uop.src[1].src[0].src[0].src[1] and (found := own(x=uop.src[0], d=uop.src[1].src[0], y=uop.src[1].src[1])) is not None: return found
  if uop.src[1].op == 34 and len(uop.src[1].src) == 2 and uop.src[1].src[0].op == 30 and len(uop.src[1].src[0].src) == 1 and uop.src[1].src[0].src[0].op == 33 and len(uop.src[1].src[0].src[0].src) == 2 and uop.src[1].src[0].src[0].src[1].op == 59 and uop.src[1].src[0].src[0].src[1].arg == 1 and uop.src[0] is uop.src[1].src[0].src[0].src[0] and (found := own(x=uop.src[0], d=uop.src[1].src[0], y=uop.src[1].src[1])) is not None: return found
  if uop.src[1].op == 34 and len(uop.src[1].src) == 2 and uop.src[1].src[1].op == 30 and len(uop.src[1].src[1].src) == 1 and uop.src[1].src[1].src[0].op == 33 and len(uop.src[1].src[1].src[0].src) == 2 and uop.src[1].src[1].src[0].src[0].op == 59 and uop.src[1].src[1].src[0].src[0].arg == 1 and uop.src[0] is uop.src[1].src[1].src[0].src[1] and (found := own(x=uop.src[0], y=uop.src[1].src[0], d=uop.src[1].src[1])) is not None: return found
  if uop.src[1].op == 34 and len(uop.src[1].src) == 2 and uop.src[1].src[1].op == 30 and len(uop.src[1].src[1].src) == 1 and uop.src[1].src[1].src[0].op == 33 and len(uop.src[1].src[1].src[0].src) == 2 and uop.src[1].src[1].src[0].src[1].op == 59 and uop.src[1].src[1].src[0].src[1].arg == 1 and uop.src[0] is uop.src[1].src[1].src[0].src[0] and (found := own(x=uop.src[0], y=uop.src[1].src[0], d=uop.src[1].src[1])) is not None: return found
  if uop.src[0].op == 34 and len(uop.src[0].src) == 2 and uop.src[0].src[0].op == 30 and len(uop.src[0].src[0].src) == 1 and uop.src[0].src[0].src[0].op == 33 and len(uop.src[0].src[0].src[0].src) == 2 and uop.src[0].src[0].src[0].src[0].op == 59 and uop.src[0].src[0].src[0].src[0].arg == 1 and uop.src[1] is uop.src[0].src[0].src[0].src[1] and (found := own(x=uop.src[1], d=uop.src[0].src[0], y=uop.src[0].src[1])) is not None: return found
  if uop.src[0].op == 34 and len(uop.src[0].src) == 2 and uop.src[0].src[0].op == 30 and len(uop.src[0].src[0].src) == 1 and uop.src[0].src[0].src[0].op == 33 and len(uop.src[0].src[0].src[0].src) == 2 and uop.src[0].src[0].src[0].src[1].op == 59 and uop.src[0].src[0].src[0].src[1].arg == 1 and uop.src[1] is uop.src[0].src[0].src[0].src[0] and (found := own(x=uop.src[1], d=uop.src[0].src[0], y=uop.src[0].src[1])) is not None: return found
  if uop.src[0].op == 34 and len(uop.src[0].src) == 2 and uop.src[0].src[1].op == 30 and len(uop.src[0].src[1].src) == 1 and uop.src[0].src[1].src[0].op == 33 and len(uop.src[0].src[1].src[0].src) == 2 and uop.src[0].src[1].src[0].src[0].op == 59 and uop.src[0].src[1].src[0].src[0].arg == 1 and uop.src[1] is uop.src[0].src[1].src[0].src[1] and (found := own(x=uop.src[1], y=uop.src[0].src[0], d=uop.src[0].src[1])) is not None: return found
  if uop.src[0].op == 34 and len(uop.src[0].src) == 2 and uop.src[0].src[1].op == 30 and len(uop.src[0].src[1].src) == 1 and uop.src[0].src[1].src[0].op == 33 and len(uop.src[0].src[1].src[0].src) == 2 and uop.src[0].src[1].src[0].src[1].op == 59 and uop.src[0].src[1].src[0].src[1].arg == 1 and uop.src[1] is uop.src[0].src[1].src[0].src[0] and (found := own(x=uop.src[1], y=uop.src[0].src[0], d=uop.src[0].src[1])) is not None: return found
  return None

def m359346224548759fb04c(uop, ctx):
  if not (len(uop.src) == 1): return None
  if (found := own(root=uop, x=uop.src[0])) is not None: return found
  return None

def m3638bdec805c2df94eb6(uop, ctx):
  if not (len(uop.src) == 3 and uop.src[0].op == 40 and len(uop.src[0].src) == 2 and uop.src[0].dtype == v0 and uop.src[0].src[1].op == 59 and uop.src[1].op == 59 and uop.src[0].src[0] is uop.src[2]): return None
  if (found := own(a=uop.src[0].src[0], b=uop.src[0].src[1], c=uop.src[1])) is not None: return found
  return None

def m36c01e11d33661990aa1(uop, ctx):
  if not (len(uop.src) == 1 and uop.src[0].op == 59 and uop.src[0].dtype in v0): return None
  if (found := own(c=uop, u=uop.src[0])) is not None: return found
  return None

def m38520bc5a8893e9e3b85(uop, ctx):
  if not (len(uop.src) == 2 and uop.src[0].op in v0 and uop.src[1].op == 15): return None
  if (found := own(x=uop, b=uop.src[0], s=uop.src[1])) is not None: return found
  return None

def m38e995b153afb0021187(uop, ctx):
  if not (len(uop.src) >= 1 and uop.src[0].op == 69 and len(uop.src[0].src) >= 1): return None
  if (found := own(idx=uop, s=uop.src[0].src[0])) is not None: return found
  return None

def m38ea5e25ffca89cff8cd(uop, ctx):
  if (found := own(ctx=ctx, b=uop)) is not None: return found
  return None

def m393c967d431080c39932(uop, ctx):
  if not (len(uop.src) >= 1 and uop.src[0].op == 12 and len(uop.src[0].src) == 1 and uop.src[0].src[0].op == 57 and len(uop.src[0].src[0].src) == 2 and uop.src[0].src[0].src[0].op == 22 and len(uop.src[0].src[0].src[0].src) == 2 and uop.src[0].src[0].src[0].src[0].op == 19 and len(uop.src[0].src[0].src[0].src[0].src) == 2 and uop.src[0].src[0].src[0].src[0].src[0].op == 5 and uop.src[0].src[0].src[0].src[0].src[1].op == 55 and uop.src[0].src[0].src[0].src[1].op == 19 and len(uop.src[0].src[0].src[0].src[1].src) == 2 and uop.src[0].src[0].src[0].src[1].src[0].op == 5 and uop.src[0].src[0].src[0].src[1].src[1].op == 55 and uop.src[0].src[0].src[0].src[0].src[1] is uop.src[0].src[0].src[0].src[1].src[1] and uop.src[0].src[0].src[1].op == 55 and uop.src[0].src[0].src[0].src[0].src[1] is uop.src[0].src[0].src[1]): return None
  if (found := own(call=uop, dst=uop.src[0].src[0].src[0].src[0].src[0], r=uop.src[0].src[0].src[0].src[0].src[1], src=uop.src[0].src[0].src[0].src[1].src[0])) is not None: return found
  return None

def m3a1828324a7698cfe8d4(uop, ctx):
  if not (len(uop.src) == 1 and uop.src[0].op in v0): return None
  if (found := own(c=uop, r=uop.src[0])) is not None: return found
  return None

def m3a6b0efcedb2ef73e7b8(uop, ctx):
  if not (len(uop.src) == 1): return None
  if (found := own(ctx=ctx, copy=uop, x=uop.src[0])) is not None: return found
  return None

def m3a6fe67e584486c2a7e2(uop, ctx):
  if not (len(uop.src) >= 1 and uop.src[0].op == 19): return None
  if (found := own(b2=uop, idx=uop.src[0])) is not None: return found
  return None

def m3a89e6c166e186147952(uop, ctx):
  if (found := own(ctx=ctx, s=uop)) is not None: return found
  return None

def m3aac622fb09d67312d93(uop, ctx):
  if (found := own(ctx=ctx, red=uop)) is not None: return found
  return None

def m3ae54044d028a28fb8c6(uop, ctx):
  if not (len(uop.src) == 3 and uop.src[0].op == 19 and len(uop.src[0].src) == 3): return None
  if (found := own(ctx=ctx, img=uop.src[0].src[0], idx_y=uop.src[0].src[1], idx_x=uop.src[0].src[2], alt=uop.src[1], gate=uop.src[2])) is not None: return found
  return None

def m3bb078a2e8e91f216ebf(uop, ctx):
  if not (len(uop.src) == 1): return None
  if (found := own(x=uop.src[0])) is not None: return found
  return None

def m3ceebc1b39e305df6921(uop, ctx):
  if not (len(uop.src) == 1 and uop.src[0].dtype == v0): return None
  if (found := own(x=uop, y=uop.src[0])) is not None: return found
  return None

def m3d32a175592690ab3e6d(uop, ctx):
  if not (len(uop.src) == 2 and uop.src[0].op == 52 and len(uop.src[0].src) == 3 and uop.src[1].op == 52 and len(uop.src[1].src) == 3 and uop.src[0].src[0] is uop.src[1].src[0]): return None
  if (found := own(alu=uop, c=uop.src[0].src[0], t=uop.src[0].src[1], f=uop.src[0].src[2], tt=uop.src[1].src[1], ff=uop.src[1].src[2])) is not None: return found
  return None

def m3deed5e6519723f67e00(uop, ctx):
  if not (uop.dtype in v0): return None
  if (found := own()) is not None: return found
  return None

def m3e5f2c107c8c5232d61c(uop, ctx):
  if not (len(uop.src) == 3 and uop.src[0].op == 12): return None
  if (found := own(call=uop, ast=uop.src[0], dst=uop.src[1], src=uop.src[2])) is not None: return found
  return None

def m3e6caf29ca08a59028d7(uop, ctx):
  if not (len(uop.src) >= 1 and uop.src[0].op in v0): return None
  if (found := own(ctx=ctx, x=uop)) is not None: return found
  return None

def m3eb54a47dc6d910befd4(uop, ctx):
  if not (uop.dtype == v0): return None
  if (found := own(d=uop)) is not None: return found
  return None

def m3f861e52193c74cab110(uop, ctx):
  if not (len(uop.src) == 2 and uop.src[1].op == 55): return None
  if (found := own(ctx=ctx, x=uop)) is not None: return found
  return None

def m403b6633015f9ac6dd1c(uop, ctx):
  if not (len(uop.src) == 2): return None
  if uop.src[0].op == 23 and (found := own(wmma=uop.src[0], add=uop.src[1])) is not None: return found
  if uop.src[1].op == 23 and (found := own(add=uop.src[0], wmma=uop.src[1])) is not None: return found
  return None

def m409e19917f7ad910f0f8(uop, ctx):
  if not (len(uop.src) >= 1 and uop.src[0].op in v0): return None
  if (found := own(a=uop, r=uop.src[0])) is not None: return found
  return None

def m40b099bba391356afdee(uop, ctx):
  if not (len(uop.src) == 1 and uop.src[0].op == 40 and len(uop.src[0].src) == 2 and uop.src[0].src[0].dtype in v0): return None
  if (found := own(x=uop, y=uop.src[0])) is not None: return found
  return None

def m419d740c3bc4d887783e(uop, ctx):
  if not (len(uop.src) == 1 and uop.dtype in v0 and uop.src[0].op == 59): return None
  if (found := own(x=uop, c=uop.src[0])) is not None: return found
  return None

def m42459151a7bb02abdde1(uop, ctx):
  if (found := own(b=uop)) is not None: return found
  return None

def m424993be66e735d337b4(uop, ctx):
  if not (len(uop.src) == 1 and uop.src[0].op == 6 and len(uop.src[0].src) >= 1 and uop.src[0].src[0].op == 16): return None
  if (found := own(g=uop, t=uop.src[0].src[0])) is not None: return found
  return None

def m4383f8365c7e540f641f(uop, ctx):
  if not (len(uop.src) == 3 and uop.src[1].op == 59 and uop.src[1].arg == v0): return None
  if (found := own(cond=uop.src[0], i=uop.src[1], val=uop.src[2])) is not None: return found
  return None

def m43f4eecc88b5bf24468a(uop, ctx):
  if not (len(uop.src) == 1 and uop.dtype == v0): return None
  if (found := own(y=uop, x=uop.src[0])) is not None: return found
  return None

def m445a50b1844231418343(uop, ctx):
  if not (len(uop.src) >= 1): return None
  if (found := own()) is not None: return found
  return None

def m45e131e169e2ddb62ba0(uop, ctx):
  if not (uop.arg == v0 and len(uop.src) == 2): return None
  if (found := own(ctx=ctx, dst=uop.src[0], val=uop.src[1])) is not None: return found
  return None

def m464cc33fa884d3238294(uop, ctx):
  if not (len(uop.src) == 2 and uop.dtype == v0): return None
  if uop.src[0].dtype == v1 and uop.src[1].op == 59 and uop.src[1].arg == 0 and uop.src[1].dtype == v2 and (found := own(x=uop.src[0])) is not None: return found
  if uop.src[0].op == 59 and uop.src[0].arg == 0 and uop.src[0].dtype == v3 and uop.src[1].dtype == v4 and (found := own(x=uop.src[1])) is not None: return found
  return None

def m465181e5515928c8d4d0(uop, ctx):
  if not (len(uop.src) == 2): return None
  if uop.src[1].op == 30 and len(uop.src[1].src) == 1 and uop.src[1].src[0].op == 33 and len(uop.src[1].src[0].src) == 2 and uop.src[1].src[0].src[0].op == 59 and uop.src[1].src[0].src[0].arg == 1 and uop.src[0] is uop.src[1].src[0].src[1] and (found := own(x=uop.src[0], d=uop.src[1])) is not None: return found
  if uop.src[1].op == 30 and len(uop.src[1].src) == 1 and uop.src[1].src[0].op == 33 and len(uop.src[1].src[0].src) == 2 and uop.src[1].src[0].src[1].op == 59 and uop.src[1].src[0].src[1].arg == 1 and uop.src[0] is uop.src[1].src[0].src[0] and (found := own(x=uop.src[0], d=uop.src[1])) is not None: return found
  if uop.src[0].op == 30 and len(uop.src[0].src) == 1 and uop.src[0].src[0].op == 33 and len(uop.src[0].src[0].src) == 2 and uop.src[0].src[0].src[0].op == 59 and uop.src[0].src[0].src[0].arg == 1 and uop.src[1] is uop.src[0].src[0].src[1] and (found := own(d=uop.src[0], x=uop.src[1])) is not None: return found
  if uop.src[0].op == 30 and len(uop.src[0].src) == 1 and uop.src[0].src[0].op == 33 and len(uop.src[0].src[0].src) == 2 and uop.src[0].src[0].src[1].op == 59 and uop.src[0].src[0].src[1].arg == 1 and uop.src[1] is uop.src[0].src[0].src[0] and (found := own(d=uop.src[0], x=uop.src[1])) is not None: return found
  return None

def m46bc1c6977a2546e546a(uop, ctx):
  if not (len(uop.src) == 1 and uop.dtype in v0 and uop.src[0].dtype in v1): return None
  if (found := own(c=uop, x=uop.src[0])) is not None: return found
  return None

def m46bf608af84a3b168157(uop, ctx):
  if not (len(uop.src) == 2 and uop.src[0].op == 19 and len(uop.src[0].src) == 2 and uop.src[0].src[0].op in v0 and uop.src[0].src[1].op == 15 and uop.src[1].op == 15): return None
  if (found := own(view=uop.src[0].src[0], off=uop.src[0].src[1], val=uop.src[1])) is not None: return found
  return None

def m46ef7c9eb874f6eeded6(uop, ctx):
  if (found := own(ctx=ctx, x=uop)) is not None: return found
  return None

def m47c35d552aef97dbf53b(uop, ctx):
  if not (len(uop.src) == 1 and uop.dtype in v0): return None
  if (found := own(y=uop, x=uop.src[0])) is not None: return found
  return None

def m48968ab30122ccb9405d(uop, ctx):
  if not (len(uop.src) >= 1 and uop.src[0].op == 67): return None
  if (found := own(call=uop)) is not None: return found
  return None

def m494b76b703fc383d6a98(uop, ctx):
  if not (len(uop.src) == 2): return None
  if uop.src[0].op == 34 and len(uop.src[0].src) == 2 and uop.src[1].op == 59 and uop.src[0].src[1].op == 59 and (found := own(c2=uop.src[1], x=uop.src[0].src[0], c1=uop.src[0].src[1], f=uop)) is not None: return found
  if uop.src[0].op == 34 and len(uop.src[0].src) == 2 and uop.src[1].op == 59 and uop.src[0].src[0].op == 59 and (found := own(c2=uop.src[1], c1=uop.src[0].src[0], x=uop.src[0].src[1], f=uop)) is not None: return found
  if uop.src[0].op == 59 and uop.src[1].op == 34 and len(uop.src[1].src) == 2 and uop.src[1].src[1].op == 59 and (found := own(c2=uop.src[0], x=uop.src[1].src[0], c1=uop.src[1].src[1], f=uop)) is not None: return found
  if uop.src[0].op == 59 and uop.src[1].op == 34 and len(uop.src[1].src) == 2 and uop.src[1].src[0].op == 59 and (found := own(c2=uop.src[0], c1=uop.src[1].src[0], x=uop.src[1].src[1], f=uop)) is not None: return found
  return None

def m49fa6202cbfdfc9b90ab(uop, ctx):
  if not (len(uop.src) == 1 and uop.src[0].op == 59 and uop.src[0].arg == v0): return None
  if (found := own(i=uop.src[0])) is not None: return found
  return None

def m4a49d17d4e3aa581544d(uop, ctx):
  if not (len(uop.src) == 2 and uop.src[0].op == 25 and len(uop.src[0].src) == 1): return None
  if (found := own(target=uop.src[0].src[0], src=uop.src[1])) is not None: return found
  return None

def m4a5636ed63dad1250212(uop, ctx):
  if not (len(uop.src) == 1 and uop.src[0].op == 16): return None
  if (found := own(g=uop, t=uop.src[0])) is not None: return found
  return None

def m4af0cc1b50c600a9e99d(uop, ctx):
  if not (len(uop.src) == 1 and uop.src[0].op == 69): return None
  if (found := own(ms=uop, mstack=uop.src[0])) is not None: return found
  return None

def m4b36206ab1a465f7bfc3(uop, ctx):
  if not (len(uop.src) == 1 and uop.src[0].op == 59): return None
  if (found := own(c=uop.src[0])) is not None: return found
  return None

def m4b3987c7729b95124c45(uop, ctx):
  if not (len(uop.src) == 1 and uop.dtype == v0 and uop.src[0].op == 19 and uop.src[0].dtype == v1): return None
  if (found := own(x=uop.src[0])) is not None: return found
  return None

def m4b7ce43ecc02154938f3(uop, ctx):
  if not (len(uop.src) == 1): return None
  if (found := own(s=uop.src[0])) is not None: return found
  return None

def m4bccf7a6e6f9d12f17ff(uop, ctx):
  if not (len(uop.src) == 2 and uop.src[1].dtype in v0): return None
  if (found := own(ctx=ctx, idx=uop.src[0], st=uop, val=uop.src[1])) is not None: return found
  if uop.src[0].op == 24 and len(uop.src[0].src) == 1 and (found := own(ctx=ctx, idx=uop.src[0].src[0], st=uop, val=uop.src[1])) is not None: return found
  return None

def m4bee70e218defd1162cb(uop, ctx):
  if not (len(uop.src) == 1 and uop.src[0].dtype in v0): return None
  if (found := own(ctx=ctx, bc=uop, x=uop.src[0])) is not None: return found
  return None

def m4cc80f24e8a8d773e0f6(uop, ctx):
  if not (len(uop.src) == 2 and uop.dtype == v0): return None
  if uop.src[0].dtype == v1 and uop.src[1].op == 41 and len(uop.src[1].src) == 2 and uop.src[1].dtype == v2 and uop.src[1].src[0].dtype == v3 and uop.src[1].src[1].op == 59 and uop.src[1].src[1].arg == 1 and uop.src[0] is uop.src[1].src[0] and (found := own(x=uop.src[0])) is not None: return found
  if uop.src[0].dtype == v1 and uop.src[1].op == 41 and len(uop.src[1].src) == 2 and uop.src[1].dtype == v2 and uop.src[1].src[0].op == 59 and uop.src[1].src[0].arg == 1 and uop.src[1].src[1].dtype == v4 and uop.src[0] is uop.src[1].src[1] and (found := own(x=uop.src[0])) is not None: return found
  if uop.src[0].op == 41 and len(uop.src[0].src) == 2 and uop.src[0].dtype == v5 and uop.src[1].dtype == v8 and uop.src[0].src[0].dtype == v6 and uop.src[0].src[1].op == 59 and uop.src[0].src[1].arg == 1 and uop.src[1] is uop.src[0].src[0] and (found := own(x=uop.src[1])) is not None: return found
  if uop.src[0].op == 41 and len(uop.src[0].src) == 2 and uop.src[0].dtype == v5 and uop.src[1].dtype == v8 and uop.src[0].src[0].op == 59 and uop.src[0].src[0].arg == 1 and uop.src[0].src[1].dtype == v7 and uop.src[1] is uop.src[0].src[1] and (found := own(x=uop.src[1])) is not None: return found
  return None

def m4d2bbd48cfc076cd7193(uop, ctx):
  if not (len(uop.src) == 2 and uop.src[0].op == 19 and uop.src[1].op == 52 and len(uop.src[1].src) == 3 and uop.src[1].src[2].op == 59 and uop.src[1].src[2].arg == v0): return None
  if (found := own(index=uop.src[0], cond=uop.src[1].src[0], val=uop.src[1].src[1], i=uop.src[1].src[2])) is not None: return found
  return None

def m4d36bbf431fd92eb62a6(uop, ctx):
  if not (len(uop.src) == 3 and uop.src[0].op == 76): return None
  if (found := own(root=uop, multi=uop.src[0])) is not None: return found
  return None

def m4d600e1ed161290ceb3b(uop, ctx):
  if not (len(uop.src) == 3 and uop.dtype == v0 and uop.src[0].dtype == v1 and uop.src[1].op == 59 and uop.src[1].arg == 1 and uop.src[1].dtype == v2 and uop.src[2].op == 59 and uop.src[2].arg == 0 and uop.src[2].dtype == v3): return None
  if (found := own(x=uop.src[0])) is not None: return found
  return None

def m4e25ebf889eb925f1b7c(uop, ctx):
  if (found := own(ctx=ctx, buf=uop)) is not None: return found
  return None

def m4ed9e2c757b61412bf91(uop, ctx):
  if not (len(uop.src) == 2): return None
  if uop.src[0].op == 15 and uop.src[1].op == 59 and (found := own(s=uop.src[0], op=uop)) is not None: return found
  if uop.src[0].op == 15 and uop.src[1].op == 24 and len(uop.src[1].src) == 1 and uop.src[1].src[0].op == 59 and (found := own(s=uop.src[0], op=uop)) is not None: return found
  if uop.src[1].op == 15 and uop.src[0].op == 59 and (found := own(s=uop.src[1], op=uop)) is not None: return found
  if uop.src[1].op == 15 and uop.src[0].op == 24 and len(uop.src[0].src) == 1 and uop.src[0].src[0].op == 59 and (found := own(s=uop.src[1], op=uop)) is not None: return found
  return None

def m4f01b63f3ad20b2d1b06(uop, ctx):
  if not (len(uop.src) == 2): return None
  if uop.src[0].op == 33 and len(uop.src[0].src) == 2 and uop.src[0].src[1].op == 59 and (found := own(y=uop.src[1], x=uop.src[0].src[0], c1=uop.src[0].src[1])) is not None: return found
  if uop.src[0].op == 33 and len(uop.src[0].src) == 2 and uop.src[0].src[0].op == 59 and (found := own(y=uop.src[1], c1=uop.src[0].src[0], x=uop.src[0].src[1])) is not None: return found
  if uop.src[1].op == 33 and len(uop.src[1].src) == 2 and uop.src[1].src[1].op == 59 and (found := own(y=uop.src[0], x=uop.src[1].src[0], c1=uop.src[1].src[1])) is not None: return found
  if uop.src[1].op == 33 and len(uop.src[1].src) == 2 and uop.src[1].src[0].op == 59 and (found := own(y=uop.src[0], c1=uop.src[1].src[0], x=uop.src[1].src[1])) is not None: return found
  return None

def m4f2bc8dc900f87647312(uop, ctx):
  if not (len(uop.src) == 2 and uop.dtype in v0): return None
  if (found := own(ctx=ctx, x=uop, a=uop.src[0], b=uop.src[1])) is not None: return found
  return None

def m4f68e1f4442b08ee5e92(uop, ctx):
  if not (len(uop.src) == 1 and uop.src[0].op == 76): return None
  if (found := own(root=uop, multi=uop.src[0])) is not None: return found
  return None

def m4fe0c021996699ca20ba(uop, ctx):
  if not (len(uop.src) == 3 and uop.src[0].dtype == v0): return None
  if (found := own(m=uop.src[0], a=uop.src[1], b=uop.src[2])) is not None: return found
  return None

def m5022807ad0c952f5ab9c(uop, ctx):
  if not (len(uop.src) == 1 and uop.src[0].op == 34 and len(uop.src[0].src) == 2): return None
  if uop.src[0].src[0].op == 34 and len(uop.src[0].src[0].src) == 2 and uop.src[0].src[0].src[0] is uop.src[0].src[0].src[1] and uop.src[0].src[0].src[0] is uop.src[0].src[1] and (found := own(x=uop.src[0].src[0].src[0])) is not None: return found
  if uop.src[0].src[1].op == 34 and len(uop.src[0].src[1].src) == 2 and uop.src[0].src[0] is uop.src[0].src[1].src[0] and uop.src[0].src[0] is uop.src[0].src[1].src[1] and (found := own(x=uop.src[0].src[0])) is not None: return found
  return None

def m5077a5ffe1d1882d736b(uop, ctx):
  if not (len(uop.src) == 3 and uop.src[0].op in v0): return None
  if (found := own(addr=uop.src[0], val=uop.src[1], gate=uop.src[2])) is not None: return found
  return None

def m509384c675493d1e5c7b(uop, ctx):
  if not (len(uop.src) == 2): return None
  if uop.src[1].op == 31 and len(uop.src[1].src) == 1 and (found := own(ctx=ctx, x=uop.src[0], y=uop.src[1].src[0])) is not None: return found
  if uop.src[0].op == 31 and len(uop.src[0].src) == 1 and (found := own(ctx=ctx, y=uop.src[0].src[0], x=uop.src[1])) is not None: return found
  return None

def m513df1eaed88e46072c0(uop, ctx):
  if not (len(uop.src) == 2 and uop.dtype == v0): return None
  if (found := own(x=uop.src[0], key=uop.src[1])) is not None: return found
  return None

def m51cb091958b408f1688f(uop, ctx):
  if not (len(uop.src) == 2 and uop.src[0].dtype in v0 and uop.src[1].dtype in v1): return None
  if (found := own(u=uop, x=uop.src[0], y=uop.src[1])) is not None: return found
  return None

def m528e701ddfed7405ab79(uop, ctx):
  if not (len(uop.src) == 1 and uop.dtype in v0 and uop.src[0].op == 33 and len(uop.src[0].src) == 2): return None
  if uop.src[0].src[0].dtype == v1 and uop.src[0].src[1].op == 59 and (found := own(x=uop.src[0].src[0], c=uop.src[0].src[1], cast=uop)) is not None: return found
  if uop.src[0].src[0].op == 59 and uop.src[0].src[1].dtype == v2 and (found := own(c=uop.src[0].src[0], x=uop.src[0].src[1], cast=uop)) is not None: return found
  return None

def m52e51c3c58809ada7fdb(uop, ctx):
  if not (len(uop.src) == 1 and uop.dtype == v0): return None
  if uop.src[0].op in v1 and (found := own(x=uop)) is not None: return found
  if uop.src[0].op == 13 and len(uop.src[0].src) >= 1 and uop.src[0].src[0].op in v2 and (found := own(x=uop)) is not None: return found
  return None

def m53e6eb474098390b0870(uop, ctx):
  if not (len(uop.src) == 1 and uop.src[0].op in v0): return None
  if (found := own(copy=uop, x=uop.src[0])) is not None: return found
  return None

def m53fb8bed17874f8dc709(uop, ctx):
  if not (len(uop.src) == 1): return None
  if (found := own(ctx=ctx, bidx=uop.src[0])) is not None: return found
  return None

def m5427ac446469f2fd754d(uop, ctx):
  if not (len(uop.src) == 3 and uop.src[0].op == 40 and len(uop.src[0].src) == 2 and uop.src[0].dtype == v0 and uop.src[0].src[0].op == 59 and uop.src[0].src[1] is uop.src[1] and uop.src[2].op == 59): return None
  if (found := own(a=uop.src[0].src[0], b=uop.src[0].src[1], c=uop.src[2])) is not None: return found
  return None

def m5430dff509c67dced95e(uop, ctx):
  if not (len(uop.src) == 1 and uop.src[0].op == 52 and len(uop.src[0].src) == 3 and uop.src[0].src[2].op == 59 and uop.src[0].src[2].arg == v0): return None
  if (found := own(op=uop, cond=uop.src[0].src[0], x=uop.src[0].src[1], i=uop.src[0].src[2])) is not None: return found
  return None

def m54c81b5cd0ab9310b75e(uop, ctx):
  if not (len(uop.src) == 2 and uop.src[1].op == 59 and uop.src[1].arg == v0): return None
  if (found := own()) is not None: return found
  return None

def m54f9ac26b333912240cc(uop, ctx):
  if not (len(uop.src) == 3 and uop.src[0].op in v0): return None
  if uop.src[2].op == 59 and (found := own()) is not None: return found
  if uop.src[2].op == 24 and len(uop.src[2].src) == 1 and uop.src[2].src[0].op == 59 and (found := own()) is not None: return found
  return None

def m55167b8aacb5a6102af1(uop, ctx):
  if not (len(uop.src) == 1 and uop.src[0].op == 13): return None
  if (found := own(c=uop, a=uop.src[0])) is not None: return found
  return None

def m557522c24bcd5b5c522a(uop, ctx):
  if not (len(uop.src) == 2): return None
  if uop.src[0].dtype in v0 and uop.src[1].op == 59 and (found := own(x=uop.src[0], c=uop.src[1])) is not None: return found
  if uop.src[0].op == 59 and uop.src[1].dtype in v1 and (found := own(c=uop.src[0], x=uop.src[1])) is not None: return found
  return None

def m55b2bf83634e1399a593(uop, ctx):
  if (found := own(p=uop)) is not None: return found
  return None

def m570ceb6f39971d8bee4b(uop, ctx):
  if not (len(uop.src) == 2): return None
  if (found := own(ctx=ctx, x=uop.src[0], y=uop.src[1])) is not None: return found
  return None

def m576e682e7bc7a2c3406d(uop, ctx):
  if not (len(uop.src) == 1 and uop.dtype == v0 and uop.src[0].dtype in v1): return None
  if (found := own(x=uop)) is not None: return found
  return None

def m578ff8a7b6aaa5dab206(uop, ctx):
  if not (len(uop.src) == 2 and uop.src[0].dtype == v0): return None
  if (found := own(x=uop)) is not None: return found
  return None

def m590e10e7e76223347ec6(uop, ctx):
  if not (len(uop.src) == 1 and uop.dtype in v0): return None
  if (found := own(ctx=ctx, x=uop, idx=uop.src[0])) is not None: return found
  return None

def m5989f8288c907ba74a10(uop, ctx):
  if not (uop.arg == v0 and len(uop.src) >= 1): return None
  if (found := own(red=uop, u=uop.src[0])) is not None: return found
  return None

def m5a0bb4fc60416f405b25(uop, ctx):
  if not (len(uop.src) == 3 and uop.src[0].dtype == v0 and uop.src[1].dtype in v1): return None
  if (found := own(m=uop.src[0], a=uop.src[1], b=uop.src[2])) is not None: return found
  return None

def m5a50719d9f98c25316f5(uop, ctx):
  if not (len(uop.src) == 2 and uop.src[0] is uop.src[1]): return None
  if (found := own(x=uop.src[0])) is not None: return found
  return None

def m5a7e081f49f9f3c7c5dd(uop, ctx):
  if not (len(uop.src) >= 1 and uop.src[0].op == 70 and uop.src[0].arg == v0 and len(uop.src[0].src) == 1 and uop.src[0].src[0].op == 12): return None
  if (found := own(call=uop)) is not None: return found
  return None

def m5a8117613fa19cd1eac0(uop, ctx):
  if not (uop.arg == v0): return None
  if (found := own()) is not None: return found
  return None

def m5a96d1867f3dfdf7d650(uop, ctx):
  if not (len(uop.src) >= 1 and uop.src[0].op == 66 and len(uop.src[0].src) >= 1): return None
  if (found := own(idx=uop, buf=uop.src[0], src=uop.src[0].src[0])) is not None: return found
  return None

def m5b63e8d5f72350f2716f(uop, ctx):
  if not (len(uop.src) == 1 and uop.dtype == v0 and uop.src[0].dtype == v1): return None
  if (found := own(x=uop, y=uop.src[0])) is not None: return found
  return None

def m5bd8b6e297339455d522(uop, ctx):
  if not (len(uop.src) == 3 and uop.src[2].dtype == v2): return None
  if uop.src[0].op in v0 and (found := own(uidx=uop.src[0], gate=uop.src[2])) is not None: return found
  if uop.src[0].op == 24 and len(uop.src[0].src) == 1 and uop.src[0].src[0].op in v1 and (found := own(uidx=uop.src[0].src[0], gate=uop.src[2])) is not None: return found
  return None

def m5bdb09cf30fa06b0efcd(uop, ctx):
  if not (len(uop.src) == 2): return None
  if (found := own(ctx=ctx, x=uop, idx=uop.src[1])) is not None: return found
  return None

def m5c9209d1c5e8ec6c2fdf(uop, ctx):
  if not (len(uop.src) == 1 and uop.dtype == v0): return None
  if uop.src[0].op in v1 and (found := own()) is not None: return found
  if uop.src[0].op == 13 and len(uop.src[0].src) >= 1 and uop.src[0].src[0].op in v2 and (found := own()) is not None: return found
  return None

def m5dbea13083e7e267ba1d(uop, ctx):
  if not (len(uop.src) == 1 and uop.src[0].op == 19 and len(uop.src[0].src) == 3): return None
  if (found := own(ctx=ctx, img=uop.src[0].src[0], idx_y=uop.src[0].src[1], idx_x=uop.src[0].src[2])) is not None: return found
  return None

def m5e68a03f0129b7a7e2f9(uop, ctx):
  if not (len(uop.src) == 1 and uop.src[0].op == 59): return None
  if (found := own(ctx=ctx, c=uop.src[0])) is not None: return found
  return None

def m5e748dfa1b96bfb23c0b(uop, ctx):
  if (found := own(ctx=ctx, copy=uop)) is not None: return found
  return None

def m5ee36cefe06a19f331f1(uop, ctx):
  if not (len(uop.src) == 1 and uop.src[0].op == 76): return None
  if (found := own(copy=uop, multi=uop.src[0])) is not None: return found
  return None

def m5f3938c0ca4bf160fbe5(uop, ctx):
  if not (len(uop.src) == 2): return None
  if uop.src[1].op == 24 and len(uop.src[1].src) == 1 and uop.src[1].src[0].dtype == v0 and (found := own(x=uop.src[0], gate=uop.src[1].src[0])) is not None: return found
  if uop.src[0].op == 24 and len(uop.src[0].src) == 1 and uop.src[0].src[0].dtype == v1 and (found := own(gate=uop.src[0].src[0], x=uop.src[1])) is not None: return found
  return None

def m60cf26bbf2c6e47c6c9f(uop, ctx):
  if not (len(uop.src) >= 1): return None
  if (found := own(ctx=ctx, a=uop.src[0])) is not None: return found
  return None

def m6150e0627d3ba208f2c1(uop, ctx):
  if not (len(uop.src) >= 1 and uop.src[0].op == 70 and uop.src[0].arg == v0): return None
  if (found := own(ctx=ctx, call=uop, ast=uop.src[0])) is not None: return found
  return None

def m616926cc5862ea78562c(uop, ctx):
  if not (len(uop.src) == 2 and uop.dtype in v0): return None
  if uop.src[1].op == 48 and len(uop.src[1].src) == 2 and uop.src[1].dtype in v1 and uop.src[1].src[0].op == 59 and uop.src[1].src[0].arg == 1 and (found := own(a=uop.src[0], b=uop.src[1].src[1])) is not None: return found
  if uop.src[0].op == 48 and len(uop.src[0].src) == 2 and uop.src[0].dtype in v2 and uop.src[0].src[0].op == 59 and uop.src[0].src[0].arg == 1 and (found := own(b=uop.src[0].src[1], a=uop.src[1])) is not None: return found
  return None

def m637688e5997f666d0885(uop, ctx):
  if (found := own(call=uop)) is not None: return found
  return None

def m63dc622d68430dec1b3d(uop, ctx):
  if not (len(uop.src) >= 2): return None
  if (found := own()) is not None: return found
  return None

def m6416d58bf72d3ef236a5(uop, ctx):
  if not (len(uop.src) == 2): return None
  if uop.src[1].op == 34 and len(uop.src[1].src) == 2 and uop.src[1].src[1].op == 59 and uop.src[0] is uop.src[1].src[0] and (found := own(x=uop.src[0], c=uop.src[1].src[1])) is not None: return found
  if uop.src[1].op == 34 and len(uop.src[1].src) == 2 and uop.src[1].src[0].op == 59 and uop.src[0] is uop.src[1].src[1] and (found := own(x=uop.src[0], c=uop.src[1].src[0])) is not None: return found
  if uop.src[0].op == 34 and len(uop.src[0].src) == 2 and uop.src[0].src[1].op == 59 and uop.src[1] is uop.src[0].src[0] and (found := own(x=uop.src[1], c=uop.src[0].src[1])) is not None: return found
  if uop.src[0].op == 34 and len(uop.src[0].src) == 2 and uop.src[0].src[0].op == 59 and uop.src[1] is uop.src[0].src[1] and (found := own(x=uop.src[1], c=uop.src[0].src[0])) is not None: return found
  return None

def m646359d4f526cc98027d(uop, ctx):
  if (found := own(ctx=ctx, sink=uop)) is not None: return found
  return None

def m6493243f422fc7cb8d42(uop, ctx):
  if not (len(uop.src) == 2 and uop.dtype == v0): return None
  if uop.src[0].op == 41 and len(uop.src[0].src) == 2 and uop.src[0].dtype == v1 and uop.src[1].op == 41 and len(uop.src[1].src) == 2 and uop.src[1].dtype == v4 and uop.src[0].src[0].dtype == v2 and uop.src[0].src[1].op == 59 and uop.src[0].src[1].arg == 1 and uop.src[1].src[0].dtype == v5 and uop.src[1].src[1].op == 59 and uop.src[1].src[1].arg == 1 and (found := own(x=uop.src[0].src[0], y=uop.src[1].src[0])) is not None: return found
  if uop.src[0].op == 41 and len(uop.src[0].src) == 2 and uop.src[0].dtype == v1 and uop.src[1].op == 41 and len(uop.src[1].src) == 2 and uop.src[1].dtype == v4 and uop.src[0].src[0].dtype == v2 and uop.src[0].src[1].op == 59 and uop.src[0].src[1].arg == 1 and uop.src[1].src[0].op == 59 and uop.src[1].src[0].arg == 1 and uop.src[1].src[1].dtype == v6 and (found := own(x=uop.src[0].src[0], y=uop.src[1].src[1])) is not None: return found
  if uop.src[0].op == 41 and len(uop.src[0].src) == 2 and uop.src[0].dtype == v1 and uop.src[1].op == 41 and len(uop.src[1].src) == 2 and uop.src[1].dtype == v4 and uop.src[0].src[0].op == 59 and uop.src[0].src[0].arg == 1 and uop.src[0].src[1].dtype == v3 and uop.src[1].src[0].dtype == v5 and uop.src[1].src[1].op == 59 and uop.src[1].src[1].arg == 1 and (found := own(x=uop.src[0].src[1], y=uop.src[1].src[0])) is not None: return found
  if uop.src[0].op == 41 and len(uop.src[0].src) == 2 and uop.src[0].dtype == v1 and uop.src[1].op == 41 and len(uop.src[1].src) == 2 and uop.src[1].dtype == v4 and uop.src[0].src[0].op == 59 and uop.src[0].src[0].arg == 1 and uop.src[0].src[1].dtype == v3 and uop.src[1].src[0].op == 59 and uop.src[1].src[0].arg == 1 and uop.src[1].src[1].dtype == v6 and (found := own(x=uop.src[0].src[1], y=uop.src[1].src[1])) is not None: return found
  if uop.src[0].op == 41 and len(uop.src[0].src) == 2 and uop.src[0].dtype == v7 and uop.src[1].op == 41 and len(uop.src[1].src) == 2 and uop.src[1].dtype == v10 and uop.src[0].src[0].dtype == v8 and uop.src[0].src[1].op == 59 and uop.src[0].src[1].arg == 1 and uop.src[1].src[0].dtype == v11 and uop.src[1].src[1].op == 59 and uop.src[1].src[1].arg == 1 and (found := own(y=uop.src[0].src[0], x=uop.src[1].src[0])) is not None: return found
  if uop.src[0].op == 41 and len(uop.src[0].src) == 2 and uop.src[0].dtype == v7 and uop.src[1].op == 41 and len(uop.src[1].src) == 2 and uop.src[1].dtype == v10 and uop.src[0].src[0].dtype == v8 and uop.src[0].src[1].op == 59 and uop.src[0].src[1].arg == 1 and uop.src[1].src[0].op == 59 and uop.src[1].src[0].arg == 1 and uop.src[1].src[1].dtype == v12 and (found := own(y=uop.src[0].src[0], x=uop.src[1].src[1])) is not None: return found
  if uop.src[0].op == 41 and len(uop.src[0].src) == 2 and uop.src[0].dtype == v7 and uop.src[1].op == 41 and len(uop.src[1].src) == 2 and uop.src[1].dtype == v10 and uop.src[0].src[0].op == 59 and uop.src[0].src[0].arg == 1 and uop.src[0].src[1].dtype == v9 and uop.src[1].src[0].dtype == v11 and uop.src[1].src[1].op == 59 and uop.src[1].src[1].arg == 1 and (found := own(y=uop.src[0].src[1], x=uop.src[1].src[0])) is not None: return found
  if uop.src[0].op == 41 and len(uop.src[0].src) == 2 and uop.src[0].dtype == v7 and uop.src[1].op == 41 and len(uop.src[1].src) == 2 and uop.src[1].dtype == v10 and uop.src[0].src[0].op == 59 and uop.src[0].src[0].arg == 1 and uop.src[0].src[1].dtype == v9 and uop.src[1].src[0].op == 59 and uop.src[1].src[0].arg == 1 and uop.src[1].src[1].dtype == v12 and (found := own(y=uop.src[0].src[1], x=uop.src[1].src[1])) is not None: return found
  return None

def m64b6d0d743bd866ca19d(uop, ctx):
  if not (len(uop.src) == 2): return None
  if uop.src[0].op == 33 and len(uop.src[0].src) == 2 and uop.src[0].src[1].op == 34 and len(uop.src[0].src[1].src) == 2 and uop.src[0].src[1].src[1].op == 59 and uop.src[1] is uop.src[0].src[1].src[0] and (found := own(x=uop.src[1], y=uop.src[0].src[0], c=uop.src[0].src[1].src[1])) is not None: return found
  if uop.src[0].op == 33 and len(uop.src[0].src) == 2 and uop.src[0].src[1].op == 34 and len(uop.src[0].src[1].src) == 2 and uop.src[0].src[1].src[0].op == 59 and uop.src[1] is uop.src[0].src[1].src[1] and (found := own(x=uop.src[1], y=uop.src[0].src[0], c=uop.src[0].src[1].src[0])) is not None: return found
  if uop.src[0].op == 33 and len(uop.src[0].src) == 2 and uop.src[0].src[0].op == 34 and len(uop.src[0].src[0].src) == 2 and uop.src[0].src[0].src[1].op == 59 and uop.src[1] is uop.src[0].src[0].src[0] and (found := own(x=uop.src[1], y=uop.src[0].src[1], c=uop.src[0].src[0].src[1])) is not None: return found
  if uop.src[0].op == 33 and len(uop.src[0].src) == 2 and uop.src[0].src[0].op == 34 and len(uop.src[0].src[0].src) == 2 and uop.src[0].src[0].src[0].op == 59 and uop.src[1] is uop.src[0].src[0].src[1] and (found := own(x=uop.src[1], y=uop.src[0].src[1], c=uop.src[0].src[0].src[0])) is not None: return found
  if uop.src[1].op == 33 and len(uop.src[1].src) == 2 and uop.src[1].src[1].op == 34 and len(uop.src[1].src[1].src) == 2 and uop.src[1].src[1].src[1].op == 59 and uop.src[0] is uop.src[1].src[1].src[0] and (found := own(x=uop.src[0], y=uop.src[1].src[0], c=uop.src[1].src[1].src[1])) is not None: return found
  if uop.src[1].op == 33 and len(uop.src[1].src) == 2 and uop.src[1].src[1].op == 34 and len(uop.src[1].src[1].src) == 2 and uop.src[1].src[1].src[0].op == 59 and uop.src[0] is uop.src[1].src[1].src[1] and (found := own(x=uop.src[0], y=uop.src[1].src[0], c=uop.src[1].src[1].src[0])) is not None: return found
  if uop.src[1].op == 33 and len(uop.src[1].src) == 2 and uop.src[1].src[0].op == 34 and len(uop.src[1].src[0].src) == 2 and uop.src[1].src[0].src[1].op == 59 and uop.src[0] is uop.src[1].src[0].src[0] and (found := own(x=uop.src[0], y=uop.src[1].src[1], c=uop.src[1].src[0].src[1])) is not None: return found
  if uop.src[1].op == 33 and len(uop.src[1].src) == 2 and uop.src[1].src[0].op == 34 and len(uop.src[1].src[0].src) == 2 and uop.src[1].src[0].src[0].op == 59 and uop.src[0] is uop.src[1].src[0].src[1] and (found := own(x=uop.src[0], y=uop.src[1].src[1], c=uop.src[1].src[0].src[0])) is not None: return found
  return None

def m64bc24f56c025df0bf25(uop, ctx):
  if not (len(uop.src) == 1 and uop.dtype == v0): return None
  if (found := own(d=uop.src[0])) is not None: return found
  return None

def m65699320f7ab4f0f13ac(uop, ctx):
  if not (len(uop.src) >= 2 and uop.src[1].dtype == v0): return None
  if (found := own(x=uop)) is not None: return found
  return None

def m657bdc236df7900a658f(uop, ctx):
  if not (len(uop.src) == 2 and uop.src[1].op == 76): return None
  if (found := own(dest=uop.src[0], multi=uop.src[1])) is not None: return found
  return None

def m6636057c284abd6571dc(uop, ctx):
  if not (len(uop.src) >= 1 and uop.src[0].op == 8): return None
  if (found := own(ctx=ctx, call=uop, ast=uop.src[0])) is not None: return found
  return None

def m663a89a6c4dad4dfd164(uop, ctx):
  if not (len(uop.src) == 1 and uop.dtype in v0 and uop.src[0].dtype in v1): return None
  if (found := own(x=uop.src[0])) is not None: return found
  return None

def m665bd8229525758bbd88(uop, ctx):
  if not (len(uop.src) == 3 and uop.src[1].op == 52 and len(uop.src[1].src) == 3 and uop.src[1].src[2].arg == v0 and uop.src[2].op == 52 and len(uop.src[2].src) == 3 and uop.src[1].src[0] is uop.src[2].src[0] and uop.src[2].src[2].arg == v1): return None
  if (found := own(buf=uop.src[0], valid=uop.src[1].src[0], idx_y=uop.src[1].src[1], idx_x=uop.src[2].src[1])) is not None: return found
  return None

def m6691e68f9204b28e7030(uop, ctx):
  if not (uop.arg == v0 and len(uop.src) == 2 and uop.src[0].op in v1): return None
  if (found := own(ctx=ctx, dst=uop.src[0], val=uop.src[1])) is not None: return found
  return None

def m66c314d0b37a25ddc720(uop, ctx):
  if not (len(uop.src) == 3 and uop.src[0].op == 59): return None
  if (found := own(w=uop, gate=uop.src[0], c0=uop.src[1], c1=uop.src[2])) is not None: return found
  return None

def m67adde6efe520beda084(uop, ctx):
  if (found := own(root=uop)) is not None: return found
  return None

def m67dc4d0c387ee14302e7(uop, ctx):
  if not (len(uop.src) >= 1 and uop.src[0].op in v0): return None
  if (found := own(idx=uop, r=uop.src[0])) is not None: return found
  return None

def m680bb83a4f09c1156bc6(uop, ctx):
  if not (len(uop.src) == 2 and uop.src[1].op == 7): return None
  if (found := own(ctx=ctx, d=uop.src[0], k=uop.src[1])) is not None: return found
  return None

def m689c20f38e4dc10eb131(uop, ctx):
  if not (len(uop.src) == 2 and uop.dtype == v0 and uop.src[0].dtype == v1 and uop.src[1].dtype == v2): return None
  if (found := own(alu=uop, x=uop.src[0], y=uop.src[1])) is not None: return found
  return None

def m69bca843fc4c90517bab(uop, ctx):
  if not (len(uop.src) == 2): return None
  if (found := own(ctx=ctx)) is not None: return found
  return None

def m6aa55b5d94b4d740b468(uop, ctx):
  if (found := own(ctx=ctx, ret=uop)) is not None: return found
  return None

def m6b1d783a4746fae758eb(uop, ctx):
  if not (len(uop.src) == 2 and uop.dtype == v0): return None
  if uop.src[0].op == 24 and len(uop.src[0].src) == 1 and uop.src[0].dtype in v1 and uop.src[0].src[0].dtype == v2 and uop.src[1].op == 59 and (found := own(x=uop.src[0].src[0], c=uop.src[1])) is not None: return found
  if uop.src[0].op == 59 and uop.src[1].op == 24 and len(uop.src[1].src) == 1 and uop.src[1].dtype in v3 and uop.src[1].src[0].dtype == v4 and (found := own(c=uop.src[0], x=uop.src[1].src[0])) is not None: return found
  return None

def m6b6a6d01ed1c21402751(uop, ctx):
  if not (len(uop.src) == 1 and uop.src[0].op == 12): return None
  if (found := own(ctx=ctx, prg=uop, sink=uop.src[0])) is not None: return found
  return None

def m6c4d4b4805554fd9de99(uop, ctx):
  if not (len(uop.src) == 2 and uop.src[0].op == 51 and len(uop.src[0].src) == 2 and uop.src[0].src[1] is uop.src[1]): return None
  if (found := own(base=uop.src[0], y=uop.src[0].src[1])) is not None: return found
  return None

def m6dc0347230403c88dcd9(uop, ctx):
  if not (len(uop.src) == 1 and uop.src[0].op in v0): return None
  if (found := own(ctx=ctx, c=uop, src=uop.src[0])) is not None: return found
  return None

def m6df976b6a340fc5ad152(uop, ctx):
  if not (uop.dtype == v0): return None
  if (found := own(u=uop)) is not None: return found
  return None

def m70e451e21371c54b1335(uop, ctx):
  if not (len(uop.src) >= 1 and uop.src[0].op == 12): return None
  if (found := own(call=uop)) is not None: return found
  return None

def m71bcae3dc4dec6505a07(uop, ctx):
  if not (len(uop.src) >= 2 and uop.src[0].op == 15 and uop.src[1].op == 59): return None
  if (found := own(idx=uop, a=uop.src[0], i=uop.src[1])) is not None: return found
  return None

def m72070448170b67d524d7(uop, ctx):
  if not (len(uop.src) == 1 and uop.src[0].op in v0 and len(uop.src[0].src) >= 2 and uop.src[0].src[1].op == 52 and len(uop.src[0].src[1].src) == 3 and uop.src[0].src[1].src[2].arg == v1): return None
  if (found := own(l=uop, mop=uop.src[0], gate=uop.src[0].src[1].src[0], idx=uop.src[0].src[1].src[1])) is not None: return found
  return None

def m724de05ff5e3d559574c(uop, ctx):
  if not (len(uop.src) == 2 and uop.dtype == v0 and uop.src[0].dtype in v1): return None
  if (found := own(x=uop, y=uop.src[0])) is not None: return found
  return None

def m730f3af4b5ccc312bf72(uop, ctx):
  if not (len(uop.src) == 2): return None
  if (found := own(x=uop)) is not None: return found
  if (found := own(x=uop)) is not None: return found
  return None

def m7314d8539ddfbd359bb2(uop, ctx):
  if not (len(uop.src) == 1 and uop.src[0].op == 34 and len(uop.src[0].src) == 2): return None
  if uop.src[0].src[1].op == 59 and (found := own(x=uop.src[0].src[0], c=uop.src[0].src[1])) is not None: return found
  if uop.src[0].src[0].op == 59 and (found := own(c=uop.src[0].src[0], x=uop.src[0].src[1])) is not None: return found
  return None

def m734c43831eeb12ce49cd(uop, ctx):
  if not (len(uop.src) == 3 and uop.dtype in v0): return None
  if (found := own(w=uop, b=uop.src[0], x=uop.src[1], y=uop.src[2])) is not None: return found
  return None

def m73b2952f8519842b7579(uop, ctx):
  if not (len(uop.src) >= 1 and uop.src[0].op == 12 and len(uop.src[0].src) == 1 and uop.src[0].src[0].op == 22 and len(uop.src[0].src[0].src) == 2 and uop.src[0].src[0].src[0].op == 19 and len(uop.src[0].src[0].src[0].src) == 2 and uop.src[0].src[0].src[0].src[0].op == 5 and uop.src[0].src[0].src[0].src[1].op == 59 and uop.src[0].src[0].src[0].src[1].arg == 0 and uop.src[0].src[0].src[1].op == 19 and len(uop.src[0].src[0].src[1].src) == 2 and uop.src[0].src[0].src[1].src[0].op == 5 and uop.src[0].src[0].src[1].src[1].op == 59 and uop.src[0].src[0].src[1].src[1].arg == 0): return None
  if (found := own(call=uop, dst=uop.src[0].src[0].src[0].src[0], src=uop.src[0].src[0].src[1].src[0])) is not None: return found
  return None

def m74c929613f561dccde58(uop, ctx):
  if not (len(uop.src) == 1 and uop.src[0].dtype in v0): return None
  if (found := own(ctx=ctx, x=uop, a=uop.src[0])) is not None: return found
  return None

def m74ee8e0845445da96698(uop, ctx):
  if not (len(uop.src) == 2): return None
  if uop.src[1].op == 30 and len(uop.src[1].src) == 1 and uop.src[0] is uop.src[1].src[0] and (found := own(x=uop.src[0])) is not None: return found
  if uop.src[0].op == 30 and len(uop.src[0].src) == 1 and uop.src[0].src[0] is uop.src[1] and (found := own(x=uop.src[0].src[0])) is not None: return found
  return None

def m7558243b4bbc865cff2e(uop, ctx):
  if not (len(uop.src) == 2 and uop.dtype == v0): return None
  if uop.src[0].op == 41 and len(uop.src[0].src) == 2 and uop.src[0].dtype == v1 and uop.src[1].op == 59 and uop.src[1].arg == 1 and (found := own(x=uop.src[0].src[0], y=uop.src[0].src[1])) is not None: return found
  if uop.src[0].op == 41 and len(uop.src[0].src) == 2 and uop.src[0].dtype == v1 and uop.src[1].op == 59 and uop.src[1].arg == 1 and (found := own(y=uop.src[0].src[0], x=uop.src[0].src[1])) is not None: return found
  if uop.src[0].op == 59 and uop.src[0].arg == 1 and uop.src[1].op == 41 and len(uop.src[1].src) == 2 and uop.src[1].dtype == v2 and (found := own(x=uop.src[1].src[0], y=uop.src[1].src[1])) is not None: return found
  if uop.src[0].op == 59 and uop.src[0].arg == 1 and uop.src[1].op == 41 and len(uop.src[1].src) == 2 and uop.src[1].dtype == v2 and (found := own(y=uop.src[1].src[0], x=uop.src[1].src[1])) is not None: return found
  return None

def m763155faea373f6d0100(uop, ctx):
  if not (len(uop.src) == 3 and uop.src[0].op in v0 and len(uop.src[0].src) >= 2): return None
  if (found := own(ctx=ctx, x=uop, buf=uop.src[0].src[0], off=uop.src[0].src[1], alt=uop.src[1], gate=uop.src[2])) is not None: return found
  return None

def m769d220891c4aaee8ab3(uop, ctx):
  if not (all([x0.op == 61 for x0 in uop.src])): return None
  if (found := own(x=uop)) is not None: return found
  return None

def m77d22d7133e405543ba2(uop, ctx):
  if not (len(uop.src) == 2 and uop.src[0].dtype in v0 and uop.src[1].op == 59): return None
  if (found := own(x=uop.src[0], c=uop.src[1])) is not None: return found
  return None

def m791c12ea0396db742981(uop, ctx):
  if not (len(uop.src) >= 1 and uop.src[0].op == 76): return None
  if (found := own(root=uop, multi=uop.src[0])) is not None: return found
  return None

def m79ba12ce55d299ce53ca(uop, ctx):
  if not (len(uop.src) == 2 and uop.src[0].dtype in v0): return None
  if (found := own(cmp=uop, y=uop.src[0], x=uop.src[1])) is not None: return found
  return None

def m7b3faa261d5d17530d00(uop, ctx):
  if (found := own(bc=uop)) is not None: return found
  return None

def m7b4f8348363db445d022(uop, ctx):
  if not (len(uop.src) == 2 and uop.dtype == v0 and uop.src[0] is uop.src[1]): return None
  if (found := own(x=uop.src[0])) is not None: return found
  return None

def m7bf6886a5ddd7cf0bf07(uop, ctx):
  if not (len(uop.src) == 2 and uop.src[1].op == 55): return None
  if (found := own(ctx=ctx, ret=uop)) is not None: return found
  return None

def m7ce2707c21e954f14bc9(uop, ctx):
  if not (len(uop.src) == 1 and uop.src[0].op in v0 and len(uop.src[0].src) >= 1): return None
  if (found := own(ms=uop, v=uop.src[0], s=uop.src[0].src[0])) is not None: return found
  return None

def m7d2c57a8889216d865f7(uop, ctx):
  if not (len(uop.src) == 1 and uop.src[0].op == 76): return None
  if (found := own(red=uop, multi=uop.src[0])) is not None: return found
  return None

def m7d79d7b28a32904f7ca7(uop, ctx):
  if not (len(uop.src) == 2 and uop.src[0].op == 59): return None
  if (found := own(c=uop.src[0], x=uop.src[1])) is not None: return found
  return None

def m7dc82e71b7920c8be7a8(uop, ctx):
  if (found := own(ctx=ctx, p=uop)) is not None: return found
  return None

def m7dd51f7c3220692f414a(uop, ctx):
  if not (len(uop.src) == 2): return None
  if (found := own(ctx=ctx, x=uop, buf=uop.src[0], idx=uop.src[1])) is not None: return found
  return None

def m7e6579c93bf574eff951(uop, ctx):
  if not (len(uop.src) == 2 and uop.dtype == v0 and uop.src[0].dtype == v1 and uop.src[1].op in v2): return None
  if (found := own()) is not None: return found
  return None

def m7f0b5501c4ea3aa69849(uop, ctx):
  if not (len(uop.src) == 2): return None
  if uop.src[0].op == 45 and len(uop.src[0].src) == 2 and uop.src[1].op == 59 and uop.src[0].src[1].op == 59 and (found := own(c2=uop.src[1], x=uop.src[0].src[0], c1=uop.src[0].src[1], f=uop)) is not None: return found
  if uop.src[0].op == 45 and len(uop.src[0].src) == 2 and uop.src[1].op == 59 and uop.src[0].src[0].op == 59 and (found := own(c2=uop.src[1], c1=uop.src[0].src[0], x=uop.src[0].src[1], f=uop)) is not None: return found
  if uop.src[0].op == 59 and uop.src[1].op == 45 and len(uop.src[1].src) == 2 and uop.src[1].src[1].op == 59 and (found := own(c2=uop.src[0], x=uop.src[1].src[0], c1=uop.src[1].src[1], f=uop)) is not None: return found
  if uop.src[0].op == 59 and uop.src[1].op == 45 and len(uop.src[1].src) == 2 and uop.src[1].src[0].op == 59 and (found := own(c2=uop.src[0], c1=uop.src[1].src[0], x=uop.src[1].src[1], f=uop)) is not None: return found
  return None

def m7f902f81a949a3575ea7(uop, ctx):
  if not (len(uop.src) == 3 and uop.src[0].op == 40): return None
  if (found := own(m=uop.src[0], a=uop.src[1], b=uop.src[2])) is not None: return found
  return None

def m80481c69d2f1be315f6f(uop, ctx):
  if not (len(uop.src) == 2): return None
  if (found := own()) is not None: return found
  return None

def m81a2eea81564fe1ea96a(uop, ctx):
  if not (len(uop.src) == 1 and uop.dtype == v0 and uop.src[0].op == 19 and len(uop.src[0].src) == 3): return None
  if (found := own(ctx=ctx, buf=uop.src[0].src[0], idx_y=uop.src[0].src[1], idx_x=uop.src[0].src[2])) is not None: return found
  return None

def m81dac373abc3111d4f54(uop, ctx):
  if not (len(uop.src) == 1 and uop.src[0].op == 40): return None
  if (found := own(x=uop, y=uop.src[0])) is not None: return found
  return None

def m81dcf0fb41c247e73598(uop, ctx):
  if not (len(uop.src) == 3 and uop.src[2].op == 59 and uop.src[2].arg == 0): return None
  if uop.src[1].op == 19 and len(uop.src[1].src) == 2 and (found := own(or_cast=uop.src[1], buf=uop.src[1].src[0], idx=uop.src[1].src[1], cond=uop.src[0])) is not None: return found
  if uop.src[1].op == 24 and len(uop.src[1].src) == 1 and uop.src[1].src[0].op == 19 and len(uop.src[1].src[0].src) == 2 and (found := own(or_cast=uop.src[1], buf=uop.src[1].src[0].src[0], idx=uop.src[1].src[0].src[1], cond=uop.src[0])) is not None: return found
  return None

def m81e8f77f716960ffc156(uop, ctx):
  if (found := own(multi=uop)) is not None: return found
  return None

def m8239fb6d65547a643915(uop, ctx):
  if not (len(uop.src) == 1 and uop.dtype in v0 and uop.src[0].dtype in v1): return None
  if (found := own(ctx=ctx, x=uop, a=uop.src[0])) is not None: return found
  return None

def m829ed70b2160cb83ee78(uop, ctx):
  if not (len(uop.src) == 1 and uop.dtype in v0 and uop.src[0].dtype == v1): return None
  if (found := own(x=uop)) is not None: return found
  return None

def m83582d2892efbf6dd79a(uop, ctx):
  if not (uop.dtype == v0): return None
  if (found := own(ctx=ctx, l=uop)) is not None: return found
  return None

def m837959692a8d696cc09a(uop, ctx):
  if not (len(uop.src) == 2 and uop.dtype == v0 and uop.src[0].op == 34 and len(uop.src[0].src) == 2 and uop.src[1].op == 59): return None
  if uop.src[0].src[0].dtype in v1 and uop.src[0].src[1].op == 59 and uop.src[0].src[1].arg == -1 and (found := own(x=uop.src[0].src[0], c=uop.src[1])) is not None: return found
  if uop.src[0].src[0].op == 59 and uop.src[0].src[0].arg == -1 and uop.src[0].src[1].dtype in v2 and (found := own(x=uop.src[0].src[1], c=uop.src[1])) is not None: return found
  return None

def m83fea4cea01b37ef5020(uop, ctx):
  if not (len(uop.src) == 2 and uop.dtype == v0 and uop.src[0].op == 33 and len(uop.src[0].src) == 2 and uop.src[0].dtype in v1 and uop.src[1].op == 59): return None
  if uop.src[0].src[0].op == 59 and uop.src[0].src[1].dtype in v2 and (found := own(c0=uop.src[0].src[0], x=uop.src[0].src[1], c1=uop.src[1])) is not None: return found
  if uop.src[0].src[0].dtype in v3 and uop.src[0].src[1].op == 59 and (found := own(x=uop.src[0].src[0], c0=uop.src[0].src[1], c1=uop.src[1])) is not None: return found
  return None

def m8425b743b521d71eb264(uop, ctx):
  if not (len(uop.src) == 2): return None
  if (found := own(x=uop, x2=uop.src[0])) is not None: return found
  return None

def m842ca64c42d755b5cdd4(uop, ctx):
  if not (len(uop.src) == 1 and uop.src[0].op == 71): return None
  if (found := own(cpy=uop, shp=uop.src[0])) is not None: return found
  return None

def m8478983396a546bb2350(uop, ctx):
  if (found := own(ctx=ctx, rb=uop)) is not None: return found
  return None

def m84c82cd09ff3d8e40cae(uop, ctx):
  if not (len(uop.src) == 2 and uop.src[1].op == 59 and uop.src[1].arg == -1): return None
  if (found := own(x=uop.src[0])) is not None: return found
  return None

def m852a9626a9d89d76ac0d(uop, ctx):
  if not (len(uop.src) == 2 and uop.src[0].op == 44 and len(uop.src[0].src) == 2 and uop.src[0].dtype == v0 and uop.src[1].op == 59 and uop.src[1].arg == 32): return None
  if uop.src[0].src[0].op == 35 and len(uop.src[0].src[0].src) == 2 and uop.src[0].src[0].src[0].op == 24 and len(uop.src[0].src[0].src[0].src) == 1 and uop.src[0].src[0].src[0].dtype == v1 and uop.src[0].src[0].src[0].src[0].dtype == v2 and uop.src[0].src[0].src[1].op == 59 and uop.src[0].src[0].src[1].arg == 32 and uop.src[0].src[1].op == 24 and len(uop.src[0].src[1].src) == 1 and uop.src[0].src[1].dtype == v3 and uop.src[0].src[1].src[0].dtype == v4 and (found := own(x=uop.src[0].src[0].src[0].src[0])) is not None: return found
  if uop.src[0].src[0].op == 24 and len(uop.src[0].src[0].src) == 1 and uop.src[0].src[0].dtype == v5 and uop.src[0].src[0].src[0].dtype == v6 and uop.src[0].src[1].op == 35 and len(uop.src[0].src[1].src) == 2 and uop.src[0].src[1].src[0].op == 24 and len(uop.src[0].src[1].src[0].src) == 1 and uop.src[0].src[1].src[0].dtype == v7 and uop.src[0].src[1].src[0].src[0].dtype == v8 and uop.src[0].src[1].src[1].op == 59 and uop.src[0].src[1].src[1].arg == 32 and (found := own(x=uop.src[0].src[1].src[0].src[0])) is not None: return found
  return None

def m85b701e9c858040c4fe0(uop, ctx):
  if not (len(uop.src) == 2): return None
  if uop.src[0].op == 52 and len(uop.src[0].src) == 3 and uop.src[0].src[2].op == 59 and uop.src[0].src[2].arg == 0 and uop.src[1].op == 52 and len(uop.src[1].src) == 3 and uop.src[0].src[0] is uop.src[1].src[0] and uop.src[1].src[1].op == 59 and uop.src[1].src[1].arg == 0 and (found := own(c=uop.src[0].src[0], t=uop.src[0].src[1], f=uop.src[1].src[2])) is not None: return found
  if uop.src[0].op == 52 and len(uop.src[0].src) == 3 and uop.src[0].src[1].op == 59 and uop.src[0].src[1].arg == 0 and uop.src[1].op == 52 and len(uop.src[1].src) == 3 and uop.src[0].src[0] is uop.src[1].src[0] and uop.src[1].src[2].op == 59 and uop.src[1].src[2].arg == 0 and (found := own(c=uop.src[0].src[0], f=uop.src[0].src[2], t=uop.src[1].src[1])) is not None: return found
  return None

def m8610b56ee5cf6228cdb9(uop, ctx):
  if not (len(uop.src) == 1 and uop.dtype in v0 and uop.src[0].op == 59): return None
  if (found := own(root=uop, c=uop.src[0])) is not None: return found
  return None

def m862ede5a1c36d1d01491(uop, ctx):
  if not (len(uop.src) == 2): return None
  if uop.src[1].op == 59 and uop.src[1].arg == -1 and (found := own(ctx=ctx, x=uop.src[0])) is not None: return found
  if uop.src[0].op == 59 and uop.src[0].arg == -1 and (found := own(ctx=ctx, x=uop.src[1])) is not None: return found
  return None

def m867088124f2642299219(uop, ctx):
  if not (len(uop.src) == 2 and uop.dtype == v0): return None
  if uop.src[0].op == 33 and len(uop.src[0].src) == 2 and (found := own(c=uop.src[1], x=uop.src[0].src[0], y=uop.src[0].src[1])) is not None: return found
  if uop.src[0].op == 33 and len(uop.src[0].src) == 2 and (found := own(c=uop.src[1], y=uop.src[0].src[0], x=uop.src[0].src[1])) is not None: return found
  if uop.src[0].op == 24 and len(uop.src[0].src) == 1 and uop.src[0].src[0].op == 33 and len(uop.src[0].src[0].src) == 2 and (found := own(c=uop.src[1], x=uop.src[0].src[0].src[0], y=uop.src[0].src[0].src[1])) is not None: return found
  if uop.src[0].op == 24 and len(uop.src[0].src) == 1 and uop.src[0].src[0].op == 33 and len(uop.src[0].src[0].src) == 2 and (found := own(c=uop.src[1], y=uop.src[0].src[0].src[0], x=uop.src[0].src[0].src[1])) is not None: return found
  if uop.src[1].op == 33 and len(uop.src[1].src) == 2 and (found := own(c=uop.src[0], x=uop.src[1].src[0], y=uop.src[1].src[1])) is not None: return found
  if uop.src[1].op == 33 and len(uop.src[1].src) == 2 and (found := own(c=uop.src[0], y=uop.src[1].src[0], x=uop.src[1].src[1])) is not None: return found
  if uop.src[1].op == 24 and len(uop.src[1].src) == 1 and uop.src[1].src[0].op == 33 and len(uop.src[1].src[0].src) == 2 and (found := own(c=uop.src[0], x=uop.src[1].src[0].src[0], y=uop.src[1].src[0].src[1])) is not None: return found
  if uop.src[1].op == 24 and len(uop.src[1].src) == 1 and uop.src[1].src[0].op == 33 and len(uop.src[1].src[0].src) == 2 and (found := own(c=uop.src[0], y=uop.src[1].src[0].src[0], x=uop.src[1].src[0].src[1])) is not None: return found
  return None

def m874008c741ea3ecd0211(uop, ctx):
  if not (len(uop.src) == 3 and uop.src[2].op == 24 and len(uop.src[2].src) == 1 and uop.src[2].src[0].op == 59): return None
  if (found := own(ctx=ctx, x=uop, buf=uop.src[0], idx=uop.src[1])) is not None: return found
  return None

def m8787206d92e8e19750e5(uop, ctx):
  if not (len(uop.src) == 1): return None
  if (found := own(ctx=ctx, b=uop)) is not None: return found
  return None

def m87e69bfa9cf0a63254b7(uop, ctx):
  if not (len(uop.src) == 2 and uop.src[1].op == 55): return None
  if (found := own(r=uop.src[1])) is not None: return found
  return None

def m8847317871e668a286df(uop, ctx):
  if not (len(uop.src) == 1 and uop.src[0].op == 19 and len(uop.src[0].src) == 3 and uop.src[0].src[1].op == 52 and len(uop.src[0].src[1].src) == 3 and uop.src[0].src[1].src[2].arg == v0 and uop.src[0].src[2].op == 52 and len(uop.src[0].src[2].src) == 3 and uop.src[0].src[1].src[0] is uop.src[0].src[2].src[0] and uop.src[0].src[2].src[2].arg == v1): return None
  if (found := own(l=uop, buf=uop.src[0].src[0], gate=uop.src[0].src[1].src[0], idx_y=uop.src[0].src[1].src[1], idx_x=uop.src[0].src[2].src[1])) is not None: return found
  return None

def m89398be5c67bc8d31214(uop, ctx):
  if not (len(uop.src) == 1 and uop.src[0].op in v0 and uop.src[0].dtype in v1): return None
  if (found := own(c=uop, u=uop.src[0])) is not None: return found
  return None

def m8a5ca998448bc7802fbf(uop, ctx):
  if not (len(uop.src) == 4 and uop.dtype == v0 and uop.src[0].op == 12 and uop.src[1].op == 9 and uop.src[2].op == 10 and uop.src[3].op == 11): return None
  if (found := own()) is not None: return found
  return None

def m8c087b4f2244edef71c7(uop, ctx):
  if not (len(uop.src) >= 1 and uop.src[0].op == 69): return None
  if (found := own(shrink=uop, ms=uop.src[0])) is not None: return found
  return None

def m8c47ba1b6b9c55c1abf4(uop, ctx):
  if not (len(uop.src) == 2 and uop.src[1].dtype in v0): return None
  if (found := own(x=uop, a=uop.src[0], b=uop.src[1])) is not None: return found
  return None

def m8c7c08917e7e45f47d49(uop, ctx):
  if not (len(uop.src) == 2 and uop.dtype == v0): return None
  if uop.src[0].op == 40 and len(uop.src[0].src) == 2 and uop.src[0].dtype == v1 and uop.src[0].src[0].dtype == v2 and uop.src[0].src[1].op == 59 and uop.src[0].src[1].arg == 1 and uop.src[1].op == 59 and uop.src[1].arg == 1 and (found := own(x=uop.src[0].src[0])) is not None: return found
  if uop.src[0].op == 59 and uop.src[0].arg == 1 and uop.src[1].op == 40 and len(uop.src[1].src) == 2 and uop.src[1].dtype == v3 and uop.src[1].src[0].dtype == v4 and uop.src[1].src[1].op == 59 and uop.src[1].src[1].arg == 1 and (found := own(x=uop.src[1].src[0])) is not None: return found
  return None

def m8cc4ff8bc81b25c8e7c7(uop, ctx):
  if not (len(uop.src) == 2 and uop.dtype == v0 and uop.src[0].dtype == v1): return None
  if (found := own(x=uop.src[0], y=uop.src[1])) is not None: return found
  return None

def m8df5b4f9f04b7ec230cd(uop, ctx):
  if not (len(uop.src) == 1): return None
  if (found := own(g=uop, buf=uop.src[0])) is not None: return found
  return None

def m8e3ca763ebf9204cc417(uop, ctx):
  if not (len(uop.src) == 2): return None
  if uop.src[0].op == 19 and len(uop.src[0].src) >= 2 and uop.src[0].src[1].op == 59 and uop.src[0].src[1].arg == v0 and (found := own(i=uop.src[0].src[1])) is not None: return found
  if uop.src[0].op == 24 and len(uop.src[0].src) == 1 and uop.src[0].src[0].op == 19 and len(uop.src[0].src[0].src) >= 2 and uop.src[0].src[0].src[1].op == 59 and uop.src[0].src[0].src[1].arg == v1 and (found := own(i=uop.src[0].src[0].src[1])) is not None: return found
  return None

def m8e7b017f0107fac03698(uop, ctx):
  if not (len(uop.src) == 2 and uop.src[1].op == 63 and len(uop.src[1].src) == 1 and uop.src[1].src[0].op == 59 and uop.src[1].src[0].arg == v0): return None
  if (found := own()) is not None: return found
  return None

def m8e87553a31890d221445(uop, ctx):
  if not (uop.tag == v0): return None
  if (found := own(ctx=ctx)) is not None: return found
  return None

def m8ec492e4851a46a977fd(uop, ctx):
  if not (len(uop.src) == 2 and uop.src[0].op == 50 and len(uop.src[0].src) == 2 and uop.src[0].src[1].op == 59 and uop.src[1].op == 59): return None
  if (found := own(x=uop.src[0].src[0], c1=uop.src[0].src[1], c2=uop.src[1])) is not None: return found
  return None

def m8ec69699385c9947dd5a(uop, ctx):
  if not (len(uop.src) == 2 and uop.src[0].op == 33 and len(uop.src[0].src) == 2 and uop.src[1].op == 59): return None
  if uop.src[0].src[0].op == 50 and len(uop.src[0].src[0].src) == 2 and uop.src[0].src[0].src[1].op == 59 and uop.src[0].src[1].op == 59 and (found := own(x=uop.src[0].src[0].src[0], c=uop.src[0].src[0].src[1], a=uop.src[0].src[1], d=uop.src[1])) is not None: return found
  if uop.src[0].src[0].op == 59 and uop.src[0].src[1].op == 50 and len(uop.src[0].src[1].src) == 2 and uop.src[0].src[1].src[1].op == 59 and (found := own(a=uop.src[0].src[0], x=uop.src[0].src[1].src[0], c=uop.src[0].src[1].src[1], d=uop.src[1])) is not None: return found
  return None

def m8edf4a157998d4ebe0da(uop, ctx):
  if (found := own(x=uop)) is not None: return found
  return None

def m8f781c95b79463cc0391(uop, ctx):
  if (found := own(v=uop)) is not None: return found
  return None

def m8fa8fbb7530a8d62422a(uop, ctx):
  if not (len(uop.src) == 3): return None
  if (found := own(ctx=ctx, buf=uop.src[0], idx_y=uop.src[1], idx_x=uop.src[2])) is not None: return found
  return None

def m90fb3c1872ff9caeb10f(uop, ctx):
  if not (len(uop.src) == 3): return None
  if (found := own(ctx=ctx, x=uop, idx=uop.src[0], alt=uop.src[1], mask=uop.src[2])) is not None: return found
  return None

def m91a553c17ed030b1ccc6(uop, ctx):
  if not (len(uop.src) == 2 and uop.src[0].op == 61 and uop.src[1].op == 59): return None
  if (found := own(g=uop, x=uop.src[0], c=uop.src[1])) is not None: return found
  return None

def m927901b3eb2f3c0a3e8d(uop, ctx):
  if not (uop.arg == v0 and len(uop.src) >= 1 and uop.src[0].op == 52 and len(uop.src[0].src) == 3 and uop.src[0].src[2].op == 59 and uop.src[0].src[2].arg == v1): return None
  if (found := own(r=uop, cond=uop.src[0].src[0], x=uop.src[0].src[1], i=uop.src[0].src[2])) is not None: return found
  return None

def m94cd13d0657516e178f9(uop, ctx):
  if not (len(uop.src) == 3): return None
  if (found := own(ctx=ctx, bidx=uop.src[0], var=uop.src[1], gate=uop.src[2])) is not None: return found
  return None

def m950f31adc6ad5744e621(uop, ctx):
  if not (len(uop.src) == 1 and uop.dtype == v0 and uop.src[0].dtype == v1): return None
  if (found := own(x=uop)) is not None: return found
  return None

def m954973263f9ea4095e06(uop, ctx):
  if not (len(uop.src) == 2): return None
  if (found := own(target=uop.src[0], src=uop.src[1])) is not None: return found
  return None

def m96de35ab1babf71f5fc3(uop, ctx):
  if not (len(uop.src) == 2 and uop.src[0].dtype in v0): return None
  if (found := own(st=uop, idx=uop.src[0], val=uop.src[1])) is not None: return found
  return None

def m97db234d763e50978e60(uop, ctx):
  if not (len(uop.src) >= 1 and uop.src[0].op == 19 and len(uop.src[0].src) == 2): return None
  if (found := own(idx2=uop, buf=uop.src[0].src[0], idx1_arg=uop.src[0].src[1])) is not None: return found
  return None

def m97e005fac6badc920e98(uop, ctx):
  if not (len(uop.src) == 3 and uop.src[2].op == 59 and uop.src[2].arg == v0): return None
  if (found := own(cond=uop.src[0], x=uop.src[1], i=uop.src[2])) is not None: return found
  return None

def m9b02cecc3dea02d743d5(uop, ctx):
  if not (len(uop.src) == 3): return None
  if (found := own(x=uop, buf=uop.src[0], idx_y=uop.src[1], idx_x=uop.src[2])) is not None: return found
  return None

def m9b2230ff8067eae19b66(uop, ctx):
  if not (len(uop.src) >= 1 and uop.src[0].op == 70): return None
  if (found := own(ctx=ctx, call=uop, ast=uop.src[0])) is not None: return found
  return None

def m9b2baff010a1f5ab7478(uop, ctx):
  if not (len(uop.src) == 3): return None
  if uop.src[2].op == 21 and len(uop.src[2].src) == 3 and uop.src[2].src[2].op == 41 and len(uop.src[2].src[2].src) == 2 and uop.src[2].src[2].dtype == v0 and uop.src[2].src[2].src[0].dtype == v1 and uop.src[2].src[2].src[1].op == 59 and uop.src[2].src[2].src[1].arg == 1 and uop.src[2].src[2].src[0] is uop.src[0] and (found := own(l=uop.src[2], gate=uop.src[2].src[2].src[0], w=uop, a=uop.src[1])) is not None: return found
  if uop.src[2].op == 21 and len(uop.src[2].src) == 3 and uop.src[2].src[2].op == 41 and len(uop.src[2].src[2].src) == 2 and uop.src[2].src[2].dtype == v0 and uop.src[2].src[2].src[0].op == 59 and uop.src[2].src[2].src[0].arg == 1 and uop.src[2].src[2].src[1].dtype == v2 and uop.src[2].src[2].src[1] is uop.src[0] and (found := own(l=uop.src[2], gate=uop.src[2].src[2].src[1], w=uop, a=uop.src[1])) is not None: return found
  if uop.src[2].op == 24 and len(uop.src[2].src) == 1 and uop.src[2].src[0].op == 21 and len(uop.src[2].src[0].src) == 3 and uop.src[2].src[0].src[2].op == 41 and len(uop.src[2].src[0].src[2].src) == 2 and uop.src[2].src[0].src[2].dtype == v3 and uop.src[2].src[0].src[2].src[0].dtype == v4 and uop.src[2].src[0].src[2].src[1].op == 59 and uop.src[2].src[0].src[2].src[1].arg == 1 and uop.src[2].src[0].src[2].src[0] is uop.src[0] and (found := own(l=uop.src[2].src[0], gate=uop.src[2].src[0].src[2].src[0], w=uop, a=uop.src[1])) is not None: return found
  if uop.src[2].op == 24 and len(uop.src[2].src) == 1 and uop.src[2].src[0].op == 21 and len(uop.src[2].src[0].src) == 3 and uop.src[2].src[0].src[2].op == 41 and len(uop.src[2].src[0].src[2].src) == 2 and uop.src[2].src[0].src[2].dtype == v3 and uop.src[2].src[0].src[2].src[0].op == 59 and uop.src[2].src[0].src[2].src[0].arg == 1 and uop.src[2].src[0].src[2].src[1].dtype == v5 and uop.src[2].src[0].src[2].src[1] is uop.src[0] and (found := own(l=uop.src[2].src[0], gate=uop.src[2].src[0].src[2].src[1], w=uop, a=uop.src[1])) is not None: return found
  return None

def m9b83ffd00c8fafd4b39e(uop, ctx):
  if not (len(uop.src) == 3 and uop.src[1].op == 55 and uop.src[1].dtype == v0 and uop.src[2].dtype == v1): return None
  if (found := own()) is not None: return found
  return None

def m9d158b9f79489b7bc6db(uop, ctx):
  if not (len(uop.src) == 1): return None
  if (found := own(red=uop, x=uop.src[0])) is not None: return found
  return None

def m9d15a4d7c45979a4aa27(uop, ctx):
  if not (len(uop.src) == 2 and uop.src[1].op == 25 and uop.src[1].dtype in v0): return None
  if (found := own(ctx=ctx, st=uop, idx=uop.src[0], val=uop.src[1])) is not None: return found
  return None

def m9d19e5943be8fb9680ad(uop, ctx):
  if not (len(uop.src) == 3 and uop.dtype == v0 and uop.src[0].op == 12 and uop.src[1].op == 9 and uop.src[2].op == 10): return None
  if (found := own()) is not None: return found
  return None

def m9d237a8dcf5da0e27c29(uop, ctx):
  if not (len(uop.src) >= 2 and uop.src[1].op == 52 and len(uop.src[1].src) == 3 and uop.src[1].src[1].dtype == v0 and uop.src[1].src[2].op == 59 and uop.src[1].src[2].arg == v1): return None
  if (found := own(u=uop, buf=uop.src[0], gate=uop.src[1].src[0], idx=uop.src[1].src[1])) is not None: return found
  return None

def m9d8032dc6d46de4d2185(uop, ctx):
  if not (uop.arg == v0 and len(uop.src) == 1 and uop.src[0].op == 9): return None
  if (found := own(submit=uop, lin=uop.src[0])) is not None: return found
  return None

def m9e6b52c8f6d66eb38cff(uop, ctx):
  if not (len(uop.src) == 2): return None
  if uop.src[0].op == 72 and len(uop.src[0].src) == 1 and uop.src[0].src[0].op == 23 and (found := own(permute=uop.src[0], wmma=uop.src[0].src[0], add=uop.src[1])) is not None: return found
  if uop.src[1].op == 72 and len(uop.src[1].src) == 1 and uop.src[1].src[0].op == 23 and (found := own(add=uop.src[0], permute=uop.src[1], wmma=uop.src[1].src[0])) is not None: return found
  return None

def m9e9d2be5ea93040c287b(uop, ctx):
  if not (len(uop.src) == 3 and uop.src[0].op == 59 and uop.src[0].arg == v0): return None
  if (found := own(i=uop.src[0])) is not None: return found
  return None

def m9fbda6fdc4cc54f0b755(uop, ctx):
  if not (len(uop.src) == 2): return None
  if uop.src[0].op == 33 and len(uop.src[0].src) == 2 and uop.src[1].op == 52 and len(uop.src[1].src) == 3 and uop.src[0].src[1].op == 52 and len(uop.src[0].src[1].src) == 3 and uop.src[1].src[0] is uop.src[0].src[1].src[0] and (found := own(c=uop.src[1].src[0], tt=uop.src[1].src[1], ff=uop.src[1].src[2], y=uop.src[0].src[0], t=uop.src[0].src[1].src[1], f=uop.src[0].src[1].src[2])) is not None: return found
  if uop.src[0].op == 33 and len(uop.src[0].src) == 2 and uop.src[1].op == 52 and len(uop.src[1].src) == 3 and uop.src[0].src[0].op == 52 and len(uop.src[0].src[0].src) == 3 and uop.src[1].src[0] is uop.src[0].src[0].src[0] and (found := own(c=uop.src[1].src[0], tt=uop.src[1].src[1], ff=uop.src[1].src[2], t=uop.src[0].src[0].src[1], f=uop.src[0].src[0].src[2], y=uop.src[0].src[1])) is not None: return found
  if uop.src[0].op == 52 and len(uop.src[0].src) == 3 and uop.src[1].op == 33 and len(uop.src[1].src) == 2 and uop.src[1].src[1].op == 52 and len(uop.src[1].src[1].src) == 3 and uop.src[0].src[0] is uop.src[1].src[1].src[0] and (found := own(c=uop.src[0].src[0], tt=uop.src[0].src[1], ff=uop.src[0].src[2], y=uop.src[1].src[0], t=uop.src[1].src[1].src[1], f=uop.src[1].src[1].src[2])) is not None: return found
  if uop.src[0].op == 52 and len(uop.src[0].src) == 3 and uop.src[1].op == 33 and len(uop.src[1].src) == 2 and uop.src[1].src[0].op == 52 and len(uop.src[1].src[0].src) == 3 and uop.src[0].src[0] is uop.src[1].src[0].src[0] and (found := own(c=uop.src[0].src[0], tt=uop.src[0].src[1], ff=uop.src[0].src[2], t=uop.src[1].src[0].src[1], f=uop.src[1].src[0].src[2], y=uop.src[1].src[1])) is not None: return found
  return None

def ma0f860e68ebb3ca96a7d(uop, ctx):
  if not (len(uop.src) == 2 and uop.src[0].op == 71): return None
  if (found := own(x=uop, x2=uop.src[0])) is not None: return found
  return None

def ma186c87f2960496a3c48(uop, ctx):
  if not (len(uop.src) == 2 and uop.dtype == v0 and uop.src[0].op == 34 and len(uop.src[0].src) == 2): return None
  if (found := own(x=uop.src[0].src[0], y=uop.src[0].src[1], c=uop.src[1])) is not None: return found
  if (found := own(y=uop.src[0].src[0], x=uop.src[0].src[1], c=uop.src[1])) is not None: return found
  return None

def ma19c90de9739c75ced68(uop, ctx):
  if not (len(uop.src) == 2): return None
  if (found := own(ctx=ctx, dest=uop.src[0], src=uop.src[1])) is not None: return found
  return None

def ma343ab8043d13760bf0c(uop, ctx):
  if not (len(uop.src) >= 1 and uop.src[0].op == 67): return None
  if (found := own(ctx=ctx, call=uop, ast=uop.src[0])) is not None: return found
  return None

def ma35f45a44092cdba74f9(uop, ctx):
  if not (uop.dtype in v0): return None
  if (found := own(ctx=ctx, x=uop)) is not None: return found
  return None

def ma4bc76b113f1538618a9(uop, ctx):
  if not (len(uop.src) == 1): return None
  if uop.src[0].op == 20 and len(uop.src[0].src) >= 1 and uop.src[0].src[0].op == 2 and (found := own(ctx=ctx, b=uop)) is not None: return found
  if uop.src[0].op == 2 and (found := own(ctx=ctx, b=uop)) is not None: return found
  return None

def ma4d27a7c975ff2afe019(uop, ctx):
  if not (len(uop.src) >= 2): return None
  if (found := own(ctx=ctx, x=uop)) is not None: return found
  return None

def ma51b94c4b9cdca44a337(uop, ctx):
  if not (len(uop.src) == 2 and uop.src[0].op == 13 and len(uop.src[0].src) == 2 and uop.src[0].src[1].op == 22 and len(uop.src[0].src[1].src) == 2 and uop.src[0].src[0] is uop.src[0].src[1].src[0] and uop.src[1].op == 22 and len(uop.src[1].src) == 2 and uop.src[0] is uop.src[1].src[0] and uop.src[0].src[1].src[1] is uop.src[1].src[1]): return None
  if (found := own(a1=uop.src[0], buf=uop.src[0].src[0], src=uop.src[0].src[1].src[1])) is not None: return found
  return None

def ma529f91b402fc65f360b(uop, ctx):
  if not (len(uop.src) == 3 and uop.src[0].op == 41): return None
  if (found := own(m=uop.src[0], a=uop.src[1], b=uop.src[2])) is not None: return found
  return None

def ma5843c1755dac6edea31(uop, ctx):
  if not (len(uop.src) == 1 and uop.dtype in v0): return None
  if (found := own(x=uop, a=uop.src[0])) is not None: return found
  return None

def ma5d20f3b453d53ceb74d(uop, ctx):
  if not (len(uop.src) == 2): return None
  if uop.src[0].op == 59 and uop.src[0].arg == -1 and uop.src[1].op == 33 and len(uop.src[1].src) == 2 and (found := own(x=uop.src[1].src[0], y=uop.src[1].src[1])) is not None: return found
  if uop.src[0].op == 59 and uop.src[0].arg == -1 and uop.src[1].op == 33 and len(uop.src[1].src) == 2 and (found := own(y=uop.src[1].src[0], x=uop.src[1].src[1])) is not None: return found
  if uop.src[0].op == 33 and len(uop.src[0].src) == 2 and uop.src[1].op == 59 and uop.src[1].arg == -1 and (found := own(x=uop.src[0].src[0], y=uop.src[0].src[1])) is not None: return found
  if uop.src[0].op == 33 and len(uop.src[0].src) == 2 and uop.src[1].op == 59 and uop.src[1].arg == -1 and (found := own(y=uop.src[0].src[0], x=uop.src[0].src[1])) is not None: return found
  return None

def ma6735bd63636687da123(uop, ctx):
  if not (len(uop.src) == 1): return None
  if uop.src[0].op in v0 and (found := own(bv=uop.src[0], g=uop)) is not None: return found
  if uop.src[0].op == 13 and len(uop.src[0].src) >= 1 and uop.src[0].src[0].op in v1 and (found := own(bv=uop.src[0].src[0], g=uop)) is not None: return found
  return None

def ma6fd35b0f342b99d8cc8(uop, ctx):
  if not (len(uop.src) == 3 and uop.src[0].op == 67): return None
  if (found := own(dst=uop.src[1], src=uop.src[2])) is not None: return found
  return None

def ma8a929067ea98ded5c8c(uop, ctx):
  if not (len(uop.src) == 0 and uop.dtype == v0): return None
  if (found := own(x=uop)) is not None: return found
  return None

def ma95dfc170f899eac6f82(uop, ctx):
  if not (len(uop.src) == 2): return None
  if uop.src[0].op == 34 and len(uop.src[0].src) == 2 and uop.src[1].op == 34 and len(uop.src[1].src) == 2 and uop.src[0].src[1].op == 59 and uop.src[1].src[1].op == 59 and uop.src[0].src[0] is uop.src[1].src[0] and (found := own(x=uop.src[0].src[0], c0=uop.src[0].src[1], c1=uop.src[1].src[1])) is not None: return found
  if uop.src[0].op == 34 and len(uop.src[0].src) == 2 and uop.src[1].op == 34 and len(uop.src[1].src) == 2 and uop.src[0].src[1].op == 59 and uop.src[1].src[0].op == 59 and uop.src[0].src[0] is uop.src[1].src[1] and (found := own(x=uop.src[0].src[0], c0=uop.src[0].src[1], c1=uop.src[1].src[0])) is not None: return found
  if uop.src[0].op == 34 and len(uop.src[0].src) == 2 and uop.src[1].op == 34 and len(uop.src[1].src) == 2 and uop.src[0].src[0].op == 59 and uop.src[1].src[1].op == 59 and uop.src[0].src[1] is uop.src[1].src[0] and (found := own(c0=uop.src[0].src[0], x=uop.src[0].src[1], c1=uop.src[1].src[1])) is not None: return found
  if uop.src[0].op == 34 and len(uop.src[0].src) == 2 and uop.src[1].op == 34 and len(uop.src[1].src) == 2 and uop.src[0].src[0].op == 59 and uop.src[1].src[0].op == 59 and uop.src[0].src[1] is uop.src[1].src[1] and (found := own(c0=uop.src[0].src[0], x=uop.src[0].src[1], c1=uop.src[1].src[0])) is not None: return found
  if uop.src[0].op == 34 and len(uop.src[0].src) == 2 and uop.src[1].op == 34 and len(uop.src[1].src) == 2 and uop.src[0].src[1].op == 59 and uop.src[1].src[1].op == 59 and uop.src[0].src[0] is uop.src[1].src[0] and (found := own(x=uop.src[0].src[0], c1=uop.src[0].src[1], c0=uop.src[1].src[1])) is not None: return found
  if uop.src[0].op == 34 and len(uop.src[0].src) == 2 and uop.src[1].op == 34 and len(uop.src[1].src) == 2 and uop.src[0].src[1].op == 59 and uop.src[1].src[0].op == 59 and uop.src[0].src[0] is uop.src[1].src[1] and (found := own(x=uop.src[0].src[0], c1=uop.src[0].src[1], c0=uop.src[1].src[0])) is not None: return found
  if uop.src[0].op == 34 and len(uop.src[0].src) == 2 and uop.src[1].op == 34 and len(uop.src[1].src) == 2 and uop.src[0].src[0].op == 59 and uop.src[1].src[1].op == 59 and uop.src[0].src[1] is uop.src[1].src[0] and (found := own(c1=uop.src[0].src[0], x=uop.src[0].src[1], c0=uop.src[1].src[1])) is not None: return found
  if uop.src[0].op == 34 and len(uop.src[0].src) == 2 and uop.src[1].op == 34 and len(uop.src[1].src) == 2 and uop.src[0].src[0].op == 59 and uop.src[1].src[0].op == 59 and uop.src[0].src[1] is uop.src[1].src[1] and (found := own(c1=uop.src[0].src[0], x=uop.src[0].src[1], c0=uop.src[1].src[0])) is not None: return found
  return None

def ma98a32fefc2861c92baa(uop, ctx):
  if not (len(uop.src) >= 1 and uop.src[0].op == 19): return None
  if (found := own(idx2=uop, idx1=uop.src[0])) is not None: return found
  return None

def maa0c5036f0474f51f248(uop, ctx):
  if not (len(uop.src) == 3 and uop.dtype in v0): return None
  if (found := own(ctx=ctx, x=uop, c=uop.src[0], a=uop.src[1], b=uop.src[2])) is not None: return found
  return None

def maac13165f6b964158688(uop, ctx):
  if not (len(uop.src) == 2): return None
  if uop.src[0].op == 59 and uop.src[0].arg == v0 and (found := own(i=uop.src[0])) is not None: return found
  if uop.src[1].op == 59 and uop.src[1].arg == v1 and (found := own(i=uop.src[1])) is not None: return found
  return None

def madab114b6c9b582ee907(uop, ctx):
  if not (len(uop.src) == 1 and uop.dtype in v0 and uop.src[0].op == 24 and len(uop.src[0].src) == 1 and uop.src[0].dtype in v1): return None
  if (found := own(u=uop, x=uop.src[0].src[0])) is not None: return found
  return None

def maf7f7b5d4f84a0e8c7f1(uop, ctx):
  if not (len(uop.src) == 1 and uop.src[0].op == 24 and len(uop.src[0].src) == 1): return None
  if (found := own(b=uop, a=uop.src[0], x=uop.src[0].src[0])) is not None: return found
  return None

def mb00420a666908e6bd32c(uop, ctx):
  if not (len(uop.src) == 2 and uop.src[0].dtype == v0): return None
  if (found := own(x=uop, a=uop.src[0], b=uop.src[1])) is not None: return found
  return None

def mb0277d97a1af7aef9a6a(uop, ctx):
  if not (len(uop.src) == 3 and uop.dtype == v0): return None
  if (found := own(w=uop, b=uop.src[0], x=uop.src[1], y=uop.src[2])) is not None: return found
  return None

def mb05553af7af89f9c40d0(uop, ctx):
  if not (len(uop.src) >= 1 and uop.src[0].op == 59): return None
  if (found := own(ctx=ctx, x=uop, c=uop.src[0])) is not None: return found
  return None

def mb0de8c30b13283261153(uop, ctx):
  if not (len(uop.src) == 1 and uop.dtype in v0): return None
  if (found := own(x=uop, sz=uop.src[0])) is not None: return found
  return None

def mb0fbdd17819fba2ddd7f(uop, ctx):
  if not (len(uop.src) == 2 and uop.dtype in v0): return None
  if (found := own(a=uop.src[0], b=uop.src[1])) is not None: return found
  return None

def mb160cb1f147ffb33770f(uop, ctx):
  if (found := own(lin=uop)) is not None: return found
  return None

def mb267f70be90a8ebb4fe5(uop, ctx):
  if not (len(uop.src) == 2 and uop.src[1].op == 22 and len(uop.src[1].src) == 2 and uop.src[1].src[1].op in v0): return None
  if (found := own(ctx=ctx, after=uop, src=uop.src[1].src[1])) is not None: return found
  return None

def mb336e7de87f5cebe2716(uop, ctx):
  if not (len(uop.src) == 1): return None
  if (found := own(buf=uop)) is not None: return found
  return None

def mb407c284950b4ef00df0(uop, ctx):
  if not (len(uop.src) == 1): return None
  if (found := own(copy=uop, x=uop.src[0])) is not None: return found
  return None

def mb446be8732665556e76a(uop, ctx):
  if (found := own(end=uop)) is not None: return found
  return None

def mb5445ca1d1d3a397d8ee(uop, ctx):
  if not (len(uop.src) == 2): return None
  if (found := own(ctx=ctx, bidx=uop.src[0], var=uop.src[1])) is not None: return found
  return None

def mb695091eac582d680a3f(uop, ctx):
  if not (len(uop.src) == 2 and uop.src[1].op == 22): return None
  if (found := own(ctx=ctx)) is not None: return found
  return None

def mb6e88b39f1f3f6eccf6d(uop, ctx):
  if not (uop.arg == 83): return None
  if (found := own(ctx=ctx, x=uop)) is not None: return found
  return None

def mb7badcab439661212cba(uop, ctx):
  if not (len(uop.src) == 1 and uop.src[0].op == 63 and len(uop.src[0].src) == 1 and uop.src[0].src[0].op in v0): return None
  if (found := own(copy=uop, x=uop.src[0].src[0])) is not None: return found
  return None

def mb7c1047aa62d2d2198b5(uop, ctx):
  if not (uop.arg == v0 and len(uop.src) >= 1 and uop.src[0].op == 34 and len(uop.src[0].src) == 2): return None
  if uop.src[0].src[1].op == 59 and (found := own(x=uop.src[0].src[0], c=uop.src[0].src[1], r=uop)) is not None: return found
  if uop.src[0].src[0].op == 59 and (found := own(c=uop.src[0].src[0], x=uop.src[0].src[1], r=uop)) is not None: return found
  return None

def mb7e61445109283c30f7c(uop, ctx):
  if (found := own(e=uop)) is not None: return found
  return None

def mb7f9bc3491dea28db4a7(uop, ctx):
  if not (len(uop.src) == 2 and uop.src[0].op in v0 and len(uop.src[0].src) >= 2): return None
  if (found := own(ctx=ctx, buf=uop.src[0].src[0], off=uop.src[0].src[1], val=uop.src[1])) is not None: return found
  return None

def mb82f24cbb4ce6087b35d(uop, ctx):
  if not (len(uop.src) >= 1 and uop.src[0].op == 9): return None
  if (found := own(linear_call=uop)) is not None: return found
  return None

def mb8ed35b25e3cabe160e3(uop, ctx):
  if (found := own(r=uop)) is not None: return found
  return None

def mb9a8232f15fbb922ddfd(uop, ctx):
  if not (len(uop.src) == 2 and uop.src[1].op == 9 and all([x0.op == 62 for x0 in uop.src[1].src])): return None
  if (found := own(ctx=ctx, prg=uop, lin=uop.src[1])) is not None: return found
  return None

def mba083bdee401c7bafebf(uop, ctx):
  if not (len(uop.src) == 2): return None
  if (found := own(ctx=ctx, ret=uop, b=uop.src[0], e=uop.src[1])) is not None: return found
  return None

def mbaf8877c3a4ce06b8f1c(uop, ctx):
  if not (len(uop.src) == 1 and uop.src[0].op == 72): return None
  if (found := own(x=uop, x2=uop.src[0])) is not None: return found
  return None

def mbaffba67fc4409286f82(uop, ctx):
  if not (len(uop.src) == 1 and uop.dtype == v0 and uop.src[0].op == 59): return None
  if (found := own(ctx=ctx, c=uop.src[0])) is not None: return found
  return None

def mbb9c2b570c9a84c05f77(uop, ctx):
  if not (len(uop.src) == 2): return None
  if uop.src[0].dtype == v0 and uop.src[1].op == 59 and (found := own(x=uop.src[0], c=uop.src[1])) is not None: return found
  if uop.src[0].op == 59 and uop.src[1].dtype == v1 and (found := own(c=uop.src[0], x=uop.src[1])) is not None: return found
  return None

def mbbd1d54c361f30bdaf95(uop, ctx):
  if (found := own(ret=uop)) is not None: return found
  return None

def mbc25875914a267bb6128(uop, ctx):
  if not (all([x0.op == 59 for x0 in uop.src])): return None
  if (found := own(x=uop)) is not None: return found
  return None

def mbd22b737133ab1a97314(uop, ctx):
  if not (len(uop.src) == 2 and uop.dtype == v0 and uop.src[0].dtype == v1 and uop.src[1].op == 59): return None
  if (found := own(x=uop.src[0], c=uop.src[1])) is not None: return found
  return None

def mbdd2183e7bfaba429ade(uop, ctx):
  if not (len(uop.src) >= 1 and uop.src[0].op == 12): return None
  if (found := own(ctx=ctx, call=uop, sink=uop.src[0])) is not None: return found
  return None

def mbdf65808346eb15204ea(uop, ctx):
  if not (len(uop.src) == 2 and uop.src[0].dtype in v0 and uop.src[1].op == 24 and len(uop.src[1].src) == 1 and uop.src[1].src[0].op == 59): return None
  if (found := own(x=uop, y=uop.src[0], c=uop.src[1].src[0])) is not None: return found
  return None

def mbe485d00bb35bc95677c(uop, ctx):
  if not (len(uop.src) == 2 and uop.src[0].op == 45 and len(uop.src[0].src) == 2 and uop.src[1].op == 59): return None
  if uop.src[0].src[1].op == 59 and (found := own(x=uop.src[0].src[0], mask=uop.src[0].src[1], k=uop.src[1])) is not None: return found
  if uop.src[0].src[0].op == 59 and (found := own(mask=uop.src[0].src[0], x=uop.src[0].src[1], k=uop.src[1])) is not None: return found
  return None

def mbe527e2bcdc148f0923c(uop, ctx):
  if not (len(uop.src) == 3): return None
  if uop.src[1].op == 21 and len(uop.src[1].src) == 3 and uop.src[1].src[2].dtype == v0 and uop.src[1].src[2] is uop.src[0] and (found := own(l=uop.src[1], gate=uop.src[1].src[2], w=uop, a=uop.src[2])) is not None: return found
  if uop.src[1].op == 24 and len(uop.src[1].src) == 1 and uop.src[1].src[0].op == 21 and len(uop.src[1].src[0].src) == 3 and uop.src[1].src[0].src[2].dtype == v1 and uop.src[1].src[0].src[2] is uop.src[0] and (found := own(l=uop.src[1].src[0], gate=uop.src[1].src[0].src[2], w=uop, a=uop.src[2])) is not None: return found
  return None

def mbe6a7e176914251ac250(uop, ctx):
  if not (len(uop.src) == 2): return None
  if uop.src[0].dtype in v0 and (found := own(ctx=ctx, a=uop.src[0], x=uop)) is not None: return found
  if uop.src[1].dtype in v1 and (found := own(ctx=ctx, a=uop.src[1], x=uop)) is not None: return found
  return None

def mbec7688c75f6daed0d67(uop, ctx):
  if not (uop.arg == v0 and len(uop.src) == 1 and uop.src[0].op == 9): return None
  if (found := own(q=uop.src[0])) is not None: return found
  return None

def mbf16d904a5f66198cf5a(uop, ctx):
  if not (len(uop.src) >= 1 and uop.src[0].op == 2): return None
  if (found := own(ctx=ctx, b=uop)) is not None: return found
  return None

def mbfad470b5825460b86b4(uop, ctx):
  if (found := own(k=uop)) is not None: return found
  return None

def mc046499edb65d1f150bf(uop, ctx):
  if not (len(uop.src) == 2 and uop.src[1].op == 59): return None
  if (found := own(ctx=ctx, b=uop.src[0], c=uop.src[1])) is not None: return found
  return None

def mc19e183dcd7b245756cf(uop, ctx):
  if not (uop.arg == v0 and len(uop.src) == 2): return None
  if (found := own(red=uop, u=uop.src[0])) is not None: return found
  return None

def mc1e7d3bd64f6a5a250a0(uop, ctx):
  if not (len(uop.src) >= 2 and uop.src[0].op == 19 and len(uop.src[0].src) == 3): return None
  if (found := own(ctx=ctx, img=uop.src[0].src[0], idx_y=uop.src[0].src[1], idx_x=uop.src[0].src[2], val=uop.src[1])) is not None: return found
  return None

def mc1f9c39dd4a373fdeae4(uop, ctx):
  if not (len(uop.src) == 2 and uop.src[1].op == 59 and uop.src[1].arg == 1): return None
  if (found := own(x=uop.src[0])) is not None: return found
  return None

def mc22771dea8ac234d92ab(uop, ctx):
  if not (len(uop.src) == 3 and uop.src[0].dtype == v0): return None
  if (found := own(cond=uop.src[0], t=uop.src[1], f=uop.src[2])) is not None: return found
  return None

def mc2d9b0070a8ffc9b1d1f(uop, ctx):
  if not (len(uop.src) == 2 and uop.dtype == v0 and uop.src[0].dtype in v1 and uop.src[1].dtype in v2): return None
  if (found := own(alu=uop, x=uop.src[0], y=uop.src[1])) is not None: return found
  return None

def mc36ab51912bb7c0877a5(uop, ctx):
  if not (len(uop.src) == 1): return None
  if (found := own(ctx=ctx, x=uop, idx=uop.src[0])) is not None: return found
  return None

def mc39393cc4e3975df1799(uop, ctx):
  if not (len(uop.src) == 1 and uop.dtype in v0): return None
  if (found := own(ctx=ctx, x=uop, a=uop.src[0])) is not None: return found
  return None

def mc4623076782b1e1768d7(uop, ctx):
  if not (len(uop.src) == 3 and uop.src[1].dtype in v0): return None
  if (found := own(m=uop.src[0], a=uop.src[1], b=uop.src[2])) is not None: return found
  return None

def mc53b8eb8f34482024338(uop, ctx):
  if (found := own(ctx=ctx, u=uop)) is not None: return found
  return None

def mc941af31ff142e1d8fb3(uop, ctx):
  if (found := own(ctx=ctx, root=uop)) is not None: return found
  return None

def mca0afa2c24362e3d5f44(uop, ctx):
  if not (len(uop.src) >= 1 and uop.src[0].op == 3): return None
  if (found := own(x=uop.src[0])) is not None: return found
  return None

def mca20f367d0f9690dca28(uop, ctx):
  if (found := own(a=uop)) is not None: return found
  return None

def mca7aecc1a30ba20ec7b2(uop, ctx):
  if not (len(uop.src) == 2): return None
  if (found := own(x=uop.src[0], y=uop.src[1])) is not None: return found
  if (found := own(y=uop.src[0], x=uop.src[1])) is not None: return found
  return None

def mcaec6a4dece3e4bdeec1(uop, ctx):
  if not (len(uop.src) >= 2): return None
  if (found := own(x=uop, buf=uop.src[0], off=uop.src[1])) is not None: return found
  return None

def mcb5684ffab405d6605d6(uop, ctx):
  if not (len(uop.src) == 2): return None
  if uop.src[0].op == 43 and len(uop.src[0].src) == 2 and uop.src[1] is uop.src[0].src[1] and (found := own(y=uop.src[1], x=uop.src[0].src[0])) is not None: return found
  if uop.src[0].op == 43 and len(uop.src[0].src) == 2 and uop.src[1] is uop.src[0].src[0] and (found := own(y=uop.src[1], x=uop.src[0].src[1])) is not None: return found
  if uop.src[1].op == 43 and len(uop.src[1].src) == 2 and uop.src[0] is uop.src[1].src[1] and (found := own(y=uop.src[0], x=uop.src[1].src[0])) is not None: return found
  if uop.src[1].op == 43 and len(uop.src[1].src) == 2 and uop.src[0] is uop.src[1].src[0] and (found := own(y=uop.src[0], x=uop.src[1].src[1])) is not None: return found
  return None

def mcb5ad02dcacf113bc083(uop, ctx):
  if not (len(uop.src) >= 1 and uop.src[0].op == 13): return None
  if (found := own(idx=uop, after=uop.src[0])) is not None: return found
  return None

def mccb88f7e1e16fcb0f380(uop, ctx):
  if not (len(uop.src) >= 1): return None
  if uop.src[0].op == 19 and len(uop.src[0].src) >= 2 and uop.src[0].src[1].op == 59 and uop.src[0].src[1].arg == v0 and (found := own(i=uop.src[0].src[1], x=uop)) is not None: return found
  if uop.src[0].op == 24 and len(uop.src[0].src) == 1 and uop.src[0].src[0].op == 19 and len(uop.src[0].src[0].src) >= 2 and uop.src[0].src[0].src[1].op == 59 and uop.src[0].src[0].src[1].arg == v1 and (found := own(i=uop.src[0].src[0].src[1], x=uop)) is not None: return found
  return None

def mcd2b2d66debb6f99f898(uop, ctx):
  if not (len(uop.src) == 3 and uop.src[0].op == 20): return None
  if (found := own(x=uop, bv=uop.src[0])) is not None: return found
  return None

def mcd37d3497de84cb55823(uop, ctx):
  if not (len(uop.src) == 2 and uop.dtype == v0): return None
  if uop.src[0].op == 40 and len(uop.src[0].src) == 2 and uop.src[0].dtype == v1 and uop.src[0].src[0].dtype in v2 and uop.src[0].src[1].op == 59 and uop.src[1].op == 59 and uop.src[1].arg == 1 and (found := own(x=uop.src[0].src[0], c=uop.src[0].src[1])) is not None: return found
  if uop.src[0].op == 59 and uop.src[0].arg == 1 and uop.src[1].op == 40 and len(uop.src[1].src) == 2 and uop.src[1].dtype == v3 and uop.src[1].src[0].dtype in v4 and uop.src[1].src[1].op == 59 and (found := own(x=uop.src[1].src[0], c=uop.src[1].src[1])) is not None: return found
  return None

def mcd6bd2ddfab8caa02040(uop, ctx):
  if not (len(uop.src) == 2 and uop.src[1].op == 67): return None
  if (found := own(ctx=ctx, existing_buf=uop.src[0], copy=uop.src[1])) is not None: return found
  return None

def mcda24aab2ae079d2d347(uop, ctx):
  if (found := own(c=uop)) is not None: return found
  return None

def mcdadde739cc2114c4554(uop, ctx):
  if (found := own(ctx=ctx, call=uop)) is not None: return found
  return None

def mcfa58fc2ed4eecc4efd8(uop, ctx):
  if not (len(uop.src) == 2 and uop.dtype == v0 and uop.src[0].op == 34 and len(uop.src[0].src) == 2 and uop.src[1].op == 34 and len(uop.src[1].src) == 2): return None
  if uop.src[0].src[0].dtype in v1 and uop.src[0].src[1].op == 59 and uop.src[0].src[1].arg == -1 and uop.src[1].src[0].dtype in v3 and uop.src[1].src[1].op == 59 and (found := own(x=uop.src[0].src[0], y=uop.src[1].src[0], c=uop.src[1].src[1])) is not None: return found
  if uop.src[0].src[0].dtype in v1 and uop.src[0].src[1].op == 59 and uop.src[0].src[1].arg == -1 and uop.src[1].src[0].op == 59 and uop.src[1].src[1].dtype in v4 and (found := own(x=uop.src[0].src[0], c=uop.src[1].src[0], y=uop.src[1].src[1])) is not None: return found
  if uop.src[0].src[0].op == 59 and uop.src[0].src[0].arg == -1 and uop.src[0].src[1].dtype in v2 and uop.src[1].src[0].dtype in v3 and uop.src[1].src[1].op == 59 and (found := own(x=uop.src[0].src[1], y=uop.src[1].src[0], c=uop.src[1].src[1])) is not None: return found
  if uop.src[0].src[0].op == 59 and uop.src[0].src[0].arg == -1 and uop.src[0].src[1].dtype in v2 and uop.src[1].src[0].op == 59 and uop.src[1].src[1].dtype in v4 and (found := own(x=uop.src[0].src[1], c=uop.src[1].src[0], y=uop.src[1].src[1])) is not None: return found
  return None

def md03cd80c4809fcab84c2(uop, ctx):
  if not (len(uop.src) == 1 and uop.src[0].op == 15): return None
  if (found := own(op=uop, s=uop.src[0])) is not None: return found
  return None

def md0d0c08c9aa41b818ad0(uop, ctx):
  if not (len(uop.src) == 1): return None
  if (found := own(u=uop, x=uop.src[0])) is not None: return found
  return None

def md0e90893982e3ec90036(uop, ctx):
  if not (len(uop.src) == 1 and uop.dtype == v0 and uop.src[0].op == 59): return None
  if (found := own(ctx=ctx, x=uop, c=uop.src[0])) is not None: return found
  return None

def md153d94b3ae5b49c6b9e(uop, ctx):
  if not (uop.dtype == v0 and all([x1.op in v1 for x1 in uop.src])): return None
  if (found := own()) is not None: return found
  return None

def md175724013826e8b8ca1(uop, ctx):
  if not (len(uop.src) == 2 and uop.src[0].op == 33 and len(uop.src[0].src) == 2 and uop.src[1].op == 59): return None
  if uop.src[0].src[0].dtype == v0 and uop.src[0].src[1].op == 59 and (found := own(x=uop.src[0].src[0], c=uop.src[0].src[1], n=uop, d=uop.src[1])) is not None: return found
  if uop.src[0].src[0].op == 59 and uop.src[0].src[1].dtype == v1 and (found := own(c=uop.src[0].src[0], x=uop.src[0].src[1], n=uop, d=uop.src[1])) is not None: return found
  return None

def md1f7c8ff5ac98686c86e(uop, ctx):
  if not (len(uop.src) == 3 and uop.src[2].op in v0): return None
  if (found := own(x=uop, cond=uop.src[2])) is not None: return found
  return None

def md24fbdfacff62804a068(uop, ctx):
  if not (len(uop.src) >= 1 and uop.src[0].op in v0): return None
  if (found := own(x=uop)) is not None: return found
  return None

def md36dc2b1b6bc6966fd61(uop, ctx):
  if not (len(uop.src) == 2): return None
  if uop.src[0].op == 34 and len(uop.src[0].src) == 2 and uop.src[1].op == 30 and len(uop.src[1].src) == 1 and uop.src[0].src[1].op == 30 and len(uop.src[0].src[1].src) == 1 and (found := own(x3=uop.src[1].src[0], x=uop.src[0].src[0], x2=uop.src[0].src[1].src[0])) is not None: return found
  if uop.src[0].op == 34 and len(uop.src[0].src) == 2 and uop.src[1].op == 30 and len(uop.src[1].src) == 1 and uop.src[0].src[0].op == 30 and len(uop.src[0].src[0].src) == 1 and (found := own(x3=uop.src[1].src[0], x2=uop.src[0].src[0].src[0], x=uop.src[0].src[1])) is not None: return found
  if uop.src[0].op == 30 and len(uop.src[0].src) == 1 and uop.src[1].op == 34 and len(uop.src[1].src) == 2 and uop.src[1].src[1].op == 30 and len(uop.src[1].src[1].src) == 1 and (found := own(x3=uop.src[0].src[0], x=uop.src[1].src[0], x2=uop.src[1].src[1].src[0])) is not None: return found
  if uop.src[0].op == 30 and len(uop.src[0].src) == 1 and uop.src[1].op == 34 and len(uop.src[1].src) == 2 and uop.src[1].src[0].op == 30 and len(uop.src[1].src[0].src) == 1 and (found := own(x3=uop.src[0].src[0], x2=uop.src[1].src[0].src[0], x=uop.src[1].src[1])) is not None: return found
  return None

def md36e1b235b23cf02edd0(uop, ctx):
  if not (len(uop.src) == 2): return None
  if uop.src[0].op == 59 and uop.src[1].op == 33 and len(uop.src[1].src) == 2 and uop.src[1].src[0].dtype == v0 and uop.src[1].src[1].op == 59 and (found := own(y=uop.src[0], x=uop.src[1].src[0], c=uop.src[1].src[1])) is not None: return found
  if uop.src[0].op == 59 and uop.src[1].op == 33 and len(uop.src[1].src) == 2 and uop.src[1].src[0].op == 59 and uop.src[1].src[1].dtype == v1 and (found := own(y=uop.src[0], c=uop.src[1].src[0], x=uop.src[1].src[1])) is not None: return found
  if uop.src[0].op == 33 and len(uop.src[0].src) == 2 and uop.src[1].op == 59 and uop.src[0].src[0].dtype == v2 and uop.src[0].src[1].op == 59 and (found := own(y=uop.src[1], x=uop.src[0].src[0], c=uop.src[0].src[1])) is not None: return found
  if uop.src[0].op == 33 and len(uop.src[0].src) == 2 and uop.src[1].op == 59 and uop.src[0].src[0].op == 59 and uop.src[0].src[1].dtype == v3 and (found := own(y=uop.src[1], c=uop.src[0].src[0], x=uop.src[0].src[1])) is not None: return found
  return None

def md481d6a7dab68d6d1ccd(uop, ctx):
  if not (len(uop.src) == 3 and uop.src[2].dtype == v2): return None
  if uop.src[0].op in v0 and (found := own(u=uop, gate=uop.src[2])) is not None: return found
  if uop.src[0].op == 24 and len(uop.src[0].src) == 1 and uop.src[0].src[0].op in v1 and (found := own(u=uop, gate=uop.src[2])) is not None: return found
  return None

def md504ccfa7ff0d5b95f68(uop, ctx):
  if not (uop.dtype == v0): return None
  if (found := own(x=uop)) is not None: return found
  return None

def md52d001b7f46357ee28b(uop, ctx):
  if not (uop.dtype in v0): return None
  if (found := own(c=uop)) is not None: return found
  return None

def md56eb98ac21122571229(uop, ctx):
  if not (len(uop.src) == 2): return None
  if uop.src[0].op == 72 and len(uop.src[0].src) == 1 and uop.src[0].src[0].op == 71 and len(uop.src[0].src[0].src) == 2 and uop.src[0].src[0].src[0].op == 23 and (found := own(permute=uop.src[0], reshape=uop.src[0].src[0], wmma=uop.src[0].src[0].src[0], add=uop.src[1])) is not None: return found
  if uop.src[1].op == 72 and len(uop.src[1].src) == 1 and uop.src[1].src[0].op == 71 and len(uop.src[1].src[0].src) == 2 and uop.src[1].src[0].src[0].op == 23 and (found := own(add=uop.src[0], permute=uop.src[1], reshape=uop.src[1].src[0], wmma=uop.src[1].src[0].src[0])) is not None: return found
  return None

def md58a4a2da0a18d579942(uop, ctx):
  if not (len(uop.src) >= 1 and uop.src[0].op == 34): return None
  if (found := own(r=uop)) is not None: return found
  return None

def md5da18a1cb8de90a9312(uop, ctx):
  if not (len(uop.src) == 2 and uop.src[1].op == 59): return None
  if (found := own(x=uop.src[0], c=uop.src[1])) is not None: return found
  return None

def md60994e90c024ae683f3(uop, ctx):
  if not (len(uop.src) == 1 and uop.src[0].op == 21): return None
  if (found := own(ctx=ctx, bc=uop, ld=uop.src[0])) is not None: return found
  return None

def md6f613a64094c45fac50(uop, ctx):
  if not (len(uop.src) == 3 and uop.src[0].op == 40 and len(uop.src[0].src) == 2 and uop.src[0].src[0].dtype in v0): return None
  if (found := own(m=uop.src[0], a=uop.src[1], b=uop.src[2])) is not None: return found
  return None

def md70ecf1617a90af72c87(uop, ctx):
  if not (uop.dtype == v0): return None
  if (found := own(root=uop)) is not None: return found
  return None

def md73d01ed711436667e6b(uop, ctx):
  if not (len(uop.src) == 3 and uop.src[0].op == 52 and len(uop.src[0].src) == 3 and uop.src[0].src[2].op == 59 and uop.src[0].src[2].arg == v0): return None
  if (found := own(cond=uop.src[0].src[0], x=uop.src[0].src[1], i=uop.src[0].src[2], a=uop.src[1], b=uop.src[2])) is not None: return found
  return None

def md8490b43d8149da055c5(uop, ctx):
  if not (len(uop.src) == 1 and uop.src[0].op in v0): return None
  if (found := own(a=uop)) is not None: return found
  return None

def md87200ae9faa8c40c7a3(uop, ctx):
  if not (len(uop.src) == 1 and uop.dtype in v0 and uop.src[0].dtype in v1): return None
  if (found := own(x=uop, y=uop.src[0])) is not None: return found
  return None

def md877c2a1ca32ce53c41f(uop, ctx):
  if not (len(uop.src) == 0): return None
  if (found := own()) is not None: return found
  return None

def md8e1be8d75500f3dba68(uop, ctx):
  if not (len(uop.src) == 2): return None
  if uop.src[0].op == 59 and uop.src[0].arg == 0 and uop.src[1].op == 30 and len(uop.src[1].src) == 1 and uop.src[1].src[0].op == 59 and uop.src[1].src[0].arg == 0 and (found := own(x=uop.src[0])) is not None: return found
  if uop.src[0].op == 30 and len(uop.src[0].src) == 1 and uop.src[0].src[0].op == 59 and uop.src[0].src[0].arg == 0 and uop.src[1].op == 59 and uop.src[1].arg == 0 and (found := own(x=uop.src[1])) is not None: return found
  return None

def md94c41e9082c89a69b53(uop, ctx):
  if not (len(uop.src) == 3 and uop.src[1] is uop.src[2]): return None
  if (found := own(val=uop.src[1])) is not None: return found
  return None

def md964b9eee55778770444(uop, ctx):
  if not (len(uop.src) == 1): return None
  if uop.src[0].op in v0 and (found := own(uidx=uop.src[0])) is not None: return found
  if uop.src[0].op == 24 and len(uop.src[0].src) == 1 and uop.src[0].src[0].op in v1 and (found := own(uidx=uop.src[0].src[0])) is not None: return found
  return None

def md991ee0b7c0e42c913ca(uop, ctx):
  if not (len(uop.src) == 2 and uop.dtype in v0 and uop.src[1].op == 24 and len(uop.src[1].src) == 1 and uop.src[1].src[0].op == 59): return None
  if (found := own(a=uop.src[0], c=uop.src[1])) is not None: return found
  return None

def md99aac058014076d0ca2(uop, ctx):
  if not (uop.dtype in v0): return None
  if (found := own(u=uop)) is not None: return found
  return None

def md9fd56061be992949ee4(uop, ctx):
  if not (len(uop.src) == 1 and uop.dtype == v0 and uop.src[0].op == 44 and len(uop.src[0].src) == 2 and uop.src[0].dtype == v1): return None
  if uop.src[0].src[0].op == 35 and len(uop.src[0].src[0].src) == 2 and uop.src[0].src[0].src[0].dtype == v2 and uop.src[0].src[0].src[1].op == 59 and uop.src[0].src[0].src[1].arg == 32 and uop.src[0].src[1].op == 24 and len(uop.src[0].src[1].src) == 1 and uop.src[0].src[1].dtype == v3 and uop.src[0].src[1].src[0].dtype == v4 and (found := own(y=uop.src[0].src[1].src[0])) is not None: return found
  if uop.src[0].src[0].op == 24 and len(uop.src[0].src[0].src) == 1 and uop.src[0].src[0].dtype == v5 and uop.src[0].src[0].src[0].dtype == v6 and uop.src[0].src[1].op == 35 and len(uop.src[0].src[1].src) == 2 and uop.src[0].src[1].src[0].dtype == v7 and uop.src[0].src[1].src[1].op == 59 and uop.src[0].src[1].src[1].arg == 32 and (found := own(y=uop.src[0].src[0].src[0])) is not None: return found
  return None

def mda0033279de4911ec4e1(uop, ctx):
  if not (len(uop.src) == 3 and uop.src[0].op == 67): return None
  if (found := own(call=uop, dst=uop.src[1], src=uop.src[2])) is not None: return found
  return None

def mdab0743ff85ef3f0473d(uop, ctx):
  if not (len(uop.src) == 2): return None
  if (found := own(a=uop, x=uop.src[0], c=uop.src[1])) is not None: return found
  return None

def mdb5f0b519b3d70de8f39(uop, ctx):
  if not (len(uop.src) == 2 and uop.src[1].op == 22 and len(uop.src[1].src) == 2 and uop.src[1].src[1].op == 67): return None
  if (found := own(a=uop, dest=uop.src[1].src[0], c=uop.src[1].src[1])) is not None: return found
  return None

def mdc62504fdda1bc02c92a(uop, ctx):
  if not (len(uop.src) == 2 and uop.dtype == v0 and uop.src[0].op == 33 and len(uop.src[0].src) == 2): return None
  if uop.src[0].src[0].dtype == v1 and (found := own(x=uop.src[0].src[0], y=uop.src[0].src[1], c=uop.src[1])) is not None: return found
  if uop.src[0].src[1].dtype == v2 and (found := own(y=uop.src[0].src[0], x=uop.src[0].src[1], c=uop.src[1])) is not None: return found
  return None

def mddbc14d91c27c841ffce(uop, ctx):
  if (found := own()) is not None: return found
  return None

def mddc4f704c127365822fb(uop, ctx):
  if not (len(uop.src) == 2): return None
  if uop.src[1].op == 33 and len(uop.src[1].src) == 2 and uop.src[1].src[0].op == 30 and len(uop.src[1].src[0].src) == 1 and uop.src[1].src[0].src[0].op == 33 and len(uop.src[1].src[0].src[0].src) == 2 and uop.src[1].src[0].src[0].src[0].op == 59 and uop.src[1].src[0].src[0].src[0].arg == 1 and uop.src[0] is uop.src[1].src[0].src[0].src[1] and (found := own(x=uop.src[0], d=uop.src[1].src[0], y=uop.src[1].src[1])) is not None: return found
  if uop.src[1].op == 33 and len(uop.src[1].src) == 2 and uop.src[1].src[0].op == 30 and len(uop.src[1].src[0].src) == 1 and uop.src[1].src[0].src[0].op == 33 and len(uop.src[1].src[0].src[0].src) == 2 and uop.src[1].src[0].src[0].src[1].op == 59 and uop.src[1].src[0].src[0].src[1].arg == 1 and uop.src[0] is uop.src[1].src[0].src[0].src[0] and (found := own(x=uop.src[0], d=uop.src[1].src[0], y=uop.src[1].src[1])) is not None: return found
  if uop.src[1].op == 33 and len(uop.src[1].src) == 2 and uop.src[1].src[1].op == 30 and len(uop.src[1].src[1].src) == 1 and uop.src[1].src[1].src[0].op == 33 and len(uop.src[1].src[1].src[0].src) == 2 and uop.src[1].src[1].src[0].src[0].op == 59 and uop.src[1].src[1].src[0].src[0].arg == 1 and uop.src[0] is uop.src[1].src[1].src[0].src[1] and (found := own(x=uop.src[0], y=uop.src[1].src[0], d=uop.src[1].src[1])) is not None: return found
  if uop.src[1].op == 33 and len(uop.src[1].src) == 2 and uop.src[1].src[1].op == 30 and len(uop.src[1].src[1].src) == 1 and uop.src[1].src[1].src[0].op == 33 and len(uop.src[1].src[1].src[0].src) == 2 and uop.src[1].src[1].src[0].src[1].op == 59 and uop.src[1].src[1].src[0].src[1].arg == 1 and uop.src[0] is uop.src[1].src[1].src[0].src[0] and (found := own(x=uop.src[0], y=uop.src[1].src[0], d=uop.src[1].src[1])) is not None: return found
  if uop.src[0].op == 33 and len(uop.src[0].src) == 2 and uop.src[0].src[0].op == 30 and len(uop.src[0].src[0].src) == 1 and uop.src[0].src[0].src[0].op == 33 and len(uop.src[0].src[0].src[0].src) == 2 and uop.src[0].src[0].src[0].src[0].op == 59 and uop.src[0].src[0].src[0].src[0].arg == 1 and uop.src[1] is uop.src[0].src[0].src[0].src[1] and (found := own(x=uop.src[1], d=uop.src[0].src[0], y=uop.src[0].src[1])) is not None: return found
  if uop.src[0].op == 33 and len(uop.src[0].src) == 2 and uop.src[0].src[0].op == 30 and len(uop.src[0].src[0].src) == 1 and uop.src[0].src[0].src[0].op == 33 and len(uop.src[0].src[0].src[0].src) == 2 and uop.src[0].src[0].src[0].src[1].op == 59 and uop.src[0].src[0].src[0].src[1].arg == 1 and uop.src[1] is uop.src[0].src[0].src[0].src[0] and (found := own(x=uop.src[1], d=uop.src[0].src[0], y=uop.src[0].src[1])) is not None: return found
  if uop.src[0].op == 33 and len(uop.src[0].src) == 2 and uop.src[0].src[1].op == 30 and len(uop.src[0].src[1].src) == 1 and uop.src[0].src[1].src[0].op == 33 and len(uop.src[0].src[1].src[0].src) == 2 and uop.src[0].src[1].src[0].src[0].op == 59 and uop.src[0].src[1].src[0].src[0].arg == 1 and uop.src[1] is uop.src[0].src[1].src[0].src[1] and (found := own(x=uop.src[1], y=uop.src[0].src[0], d=uop.src[0].src[1])) is not None: return found
  if uop.src[0].op == 33 and len(uop.src[0].src) == 2 and uop.src[0].src[1].op == 30 and len(uop.src[0].src[1].src) == 1 and uop.src[0].src[1].src[0].op == 33 and len(uop.src[0].src[1].src[0].src) == 2 and uop.src[0].src[1].src[0].src[1].op == 59 and uop.src[0].src[1].src[0].src[1].arg == 1 and uop.src[1] is uop.src[0].src[1].src[0].src[0] and (found := own(x=uop.src[1], y=uop.src[0].src[0], d=uop.src[0].src[1])) is not None: return found
  return None

def mde1fe2f91f0e4c2095bd(uop, ctx):
  if not (len(uop.src) == 1): return None
  if (found := own(u=uop)) is not None: return found
  return None

def mde3c910fbc51e25bd225(uop, ctx):
  if not (len(uop.src) == 1 and uop.dtype in v0 and uop.src[0].op == 59): return None
  if (found := own(ctx=ctx, x=uop, c=uop.src[0])) is not None: return found
  return None

def mde79da2a2fa795438093(uop, ctx):
  if not (len(uop.src) >= 1 and uop.src[0].op == 12): return None
  if (found := own(call=uop, sink=uop.src[0])) is not None: return found
  return None

def mdf343eb61cf58975d245(uop, ctx):
  if not (len(uop.src) == 3 and uop.src[1].dtype == v0): return None
  if (found := own(m=uop.src[0], a=uop.src[1], b=uop.src[2])) is not None: return found
  return None

def mdf584aae2971f8502b60(uop, ctx):
  if (found := own(s=uop)) is not None: return found
  return None

def mdf6e614de7a280981efc(uop, ctx):
  if not (len(uop.src) == 1 and uop.src[0].op in v0 and len(uop.src[0].src) >= 2): return None
  if (found := own(ctx=ctx, x=uop, buf=uop.src[0].src[0], off=uop.src[0].src[1])) is not None: return found
  return None

def mdf7bfed65d495be2c9d0(uop, ctx):
  if not (len(uop.src) == 2 and uop.src[0].dtype in v0): return None
  if (found := own(x=uop, a=uop.src[0], b=uop.src[1])) is not None: return found
  return None

def mdfa8ccb2ab20fff0c106(uop, ctx):
  if not (len(uop.src) == 2): return None
  if (found := own(x=uop.src[0], y=uop.src[1])) is not None: return found
  return None

def mdfbb0a08eef5283c0901(uop, ctx):
  if not (len(uop.src) == 2 and uop.src[0].op == 55 and uop.src[1].op == 59): return None
  if (found := own(ctx=ctx, r=uop.src[0], c=uop.src[1])) is not None: return found
  return None

def mdfcaf7c78bc870810765(uop, ctx):
  if not (len(uop.src) == 2): return None
  if uop.src[0].op == 44 and len(uop.src[0].src) == 2 and uop.src[1].op == 59 and uop.src[0].src[1].op == 59 and (found := own(c2=uop.src[1], x=uop.src[0].src[0], c1=uop.src[0].src[1], f=uop)) is not None: return found
  if uop.src[0].op == 44 and len(uop.src[0].src) == 2 and uop.src[1].op == 59 and uop.src[0].src[0].op == 59 and (found := own(c2=uop.src[1], c1=uop.src[0].src[0], x=uop.src[0].src[1], f=uop)) is not None: return found
  if uop.src[0].op == 59 and uop.src[1].op == 44 and len(uop.src[1].src) == 2 and uop.src[1].src[1].op == 59 and (found := own(c2=uop.src[0], x=uop.src[1].src[0], c1=uop.src[1].src[1], f=uop)) is not None: return found
  if uop.src[0].op == 59 and uop.src[1].op == 44 and len(uop.src[1].src) == 2 and uop.src[1].src[0].op == 59 and (found := own(c2=uop.src[0], c1=uop.src[1].src[0], x=uop.src[1].src[1], f=uop)) is not None: return found
  return None

def mdfced3ab93fba62fb0fb(uop, ctx):
  if not (len(uop.src) >= 1 and uop.src[0].op == 12): return None
  if (found := own(ast=uop.src[0])) is not None: return found
  return None

def mdff25f98ec78de118003(uop, ctx):
  if not (len(uop.src) == 0 and uop.dtype == v0): return None
  if (found := own()) is not None: return found
  return None

def me00bead723b972074fd4(uop, ctx):
  if not (len(uop.src) == 2 and uop.src[0].op == 76 and uop.src[1].op == 22 and len(uop.src[1].src) == 2 and uop.src[1].src[0].op == 76 and uop.src[1].src[1].op == 76): return None
  if (found := own(dest=uop.src[1].src[0], src=uop.src[1].src[1])) is not None: return found
  return None

def me022d459e340355d5875(uop, ctx):
  if not (len(uop.src) == 2 and uop.src[1].op == 22 and len(uop.src[1].src) == 2 and uop.src[0] is uop.src[1].src[0] and uop.src[1].src[1].op == 13 and len(uop.src[1].src[1].src) == 2 and uop.src[0] is uop.src[1].src[1].src[0] and uop.src[1].src[1].src[1].op == 22 and len(uop.src[1].src[1].src[1].src) == 2 and uop.src[0] is uop.src[1].src[1].src[1].src[0]): return None
  if (found := own(buf=uop.src[0], a1=uop.src[1].src[1], src=uop.src[1].src[1].src[1].src[1])) is not None: return found
  return None

def me060fb34779f60442c60(uop, ctx):
  if not (len(uop.src) == 3 and uop.src[1].op == 52 and len(uop.src[1].src) == 3 and uop.src[1].src[2].op == 59 and uop.src[1].src[2].arg == v0): return None
  if (found := own(a=uop.src[0], cond=uop.src[1].src[0], x=uop.src[1].src[1], i=uop.src[1].src[2], c=uop.src[2])) is not None: return found
  return None

def me0dd8d3421760aa1b23c(uop, ctx):
  if (found := own(sink=uop)) is not None: return found
  return None

def me1a8bb409b3b0d2f8654(uop, ctx):
  if not (len(uop.src) >= 1 and uop.dtype == v0 and uop.src[0].op == 16): return None
  if (found := own()) is not None: return found
  return None

def me2b46ab0c8ea46b63c4b(uop, ctx):
  if not (all([x0.op == 71 for x0 in uop.src])): return None
  if (found := own(m=uop)) is not None: return found
  return None

def me3056efd7466961bed5b(uop, ctx):
  if not (len(uop.src) == 2 and uop.dtype == v0): return None
  if uop.src[0].dtype in v1 and uop.src[0] is uop.src[1] and (found := own(x=uop.src[0])) is not None: return found
  if uop.src[0] is uop.src[1] and uop.src[1].dtype in v2 and (found := own(x=uop.src[0])) is not None: return found
  return None

def me32385628b8ee3ba197a(uop, ctx):
  if not (uop.arg == v0 and len(uop.src) == 1): return None
  if (found := own(ctx=ctx, dst=uop.src[0])) is not None: return found
  return None

def me35a518b1022b68061a6(uop, ctx):
  if not (len(uop.src) == 2 and uop.dtype == v0): return None
  if uop.src[0].op == 41 and len(uop.src[0].src) == 2 and uop.src[0].dtype == v1 and uop.src[1].op == 59 and uop.src[1].arg == 1 and uop.src[0].src[0].dtype == v2 and uop.src[0].src[1].op == 59 and uop.src[0].src[1].arg == 1 and (found := own(x=uop.src[0].src[0])) is not None: return found
  if uop.src[0].op == 41 and len(uop.src[0].src) == 2 and uop.src[0].dtype == v1 and uop.src[1].op == 59 and uop.src[1].arg == 1 and uop.src[0].src[0].op == 59 and uop.src[0].src[0].arg == 1 and uop.src[0].src[1].dtype == v3 and (found := own(x=uop.src[0].src[1])) is not None: return found
  if uop.src[0].op == 59 and uop.src[0].arg == 1 and uop.src[1].op == 41 and len(uop.src[1].src) == 2 and uop.src[1].dtype == v4 and uop.src[1].src[0].dtype == v5 and uop.src[1].src[1].op == 59 and uop.src[1].src[1].arg == 1 and (found := own(x=uop.src[1].src[0])) is not None: return found
  if uop.src[0].op == 59 and uop.src[0].arg == 1 and uop.src[1].op == 41 and len(uop.src[1].src) == 2 and uop.src[1].dtype == v4 and uop.src[1].src[0].op == 59 and uop.src[1].src[0].arg == 1 and uop.src[1].src[1].dtype == v6 and (found := own(x=uop.src[1].src[1])) is not None: return found
  return None

def me39d318894ab65b4067f(uop, ctx):
  if not (len(uop.src) == 2): return None
  if uop.src[1].op == 11 and (found := own(blob=uop.src[1], buf=uop.src[0])) is not None: return found
  if uop.src[1].op == 25 and len(uop.src[1].src) == 1 and uop.src[1].src[0].op == 11 and (found := own(blob=uop.src[1].src[0], buf=uop.src[0])) is not None: return found
  return None

def me46e15e9ae318a5ef219(uop, ctx):
  if not (len(uop.src) == 2 and uop.dtype == v0): return None
  if uop.src[0].op == 33 and len(uop.src[0].src) == 2 and (found := own(x=uop.src[0].src[0], y=uop.src[0].src[1], c=uop.src[1])) is not None: return found
  if uop.src[0].op == 33 and len(uop.src[0].src) == 2 and (found := own(y=uop.src[0].src[0], x=uop.src[0].src[1], c=uop.src[1])) is not None: return found
  if uop.src[0].op == 24 and len(uop.src[0].src) == 1 and uop.src[0].src[0].op == 33 and len(uop.src[0].src[0].src) == 2 and (found := own(x=uop.src[0].src[0].src[0], y=uop.src[0].src[0].src[1], c=uop.src[1])) is not None: return found
  if uop.src[0].op == 24 and len(uop.src[0].src) == 1 and uop.src[0].src[0].op == 33 and len(uop.src[0].src[0].src) == 2 and (found := own(y=uop.src[0].src[0].src[0], x=uop.src[0].src[0].src[1], c=uop.src[1])) is not None: return found
  return None

def me56f558d57784d789e8e(uop, ctx):
  if not (len(uop.src) == 1): return None
  if (found := own(red=uop, buf=uop.src[0])) is not None: return found
  return None

def me5a0e42a372ef16c0125(uop, ctx):
  if not (len(uop.src) >= 1 and uop.src[0].op == 24 and len(uop.src[0].src) == 1 and uop.src[0].dtype in v0): return None
  if (found := own(u=uop, buf=uop.src[0].src[0])) is not None: return found
  return None

def me6102e0bd67961a32227(uop, ctx):
  if not (len(uop.src) >= 1 and uop.src[0].op == 59): return None
  if (found := own(b=uop, c=uop.src[0])) is not None: return found
  return None

def me6d8b09dbe4acfdd8249(uop, ctx):
  if not (len(uop.src) == 1): return None
  if (found := own(r=uop)) is not None: return found
  return None

def me7eff48ef991b445b8f6(uop, ctx):
  if (found := own(ctx=ctx, r=uop)) is not None: return found
  return None

def me89676b6a889b54c0998(uop, ctx):
  if not (len(uop.src) == 2): return None
  if uop.src[0].op == 34 and len(uop.src[0].src) == 2 and uop.src[0].src[1].op == 59 and (found := own(y=uop.src[1], x=uop.src[0].src[0], c1=uop.src[0].src[1])) is not None: return found
  if uop.src[0].op == 34 and len(uop.src[0].src) == 2 and uop.src[0].src[0].op == 59 and (found := own(y=uop.src[1], c1=uop.src[0].src[0], x=uop.src[0].src[1])) is not None: return found
  if uop.src[1].op == 34 and len(uop.src[1].src) == 2 and uop.src[1].src[1].op == 59 and (found := own(y=uop.src[0], x=uop.src[1].src[0], c1=uop.src[1].src[1])) is not None: return found
  if uop.src[1].op == 34 and len(uop.src[1].src) == 2 and uop.src[1].src[0].op == 59 and (found := own(y=uop.src[0], c1=uop.src[1].src[0], x=uop.src[1].src[1])) is not None: return found
  return None

def me8a10dc676f9fa40b49f(uop, ctx):
  if not (len(uop.src) == 1 and uop.dtype in v0): return None
  if (found := own(ctx=ctx, x=uop, val=uop.src[0])) is not None: return found
  return None

def me8afb93fbf95e20ae89c(uop, ctx):
  if not (len(uop.src) >= 1 and uop.src[0].op in v0): return None
  if (found := own(ctx=ctx, c=uop)) is not None: return found
  return None

def me8e03dcf0fdc629c5ec4(uop, ctx):
  if not (len(uop.src) == 1 and uop.dtype in v0): return None
  if (found := own(x=uop, d=uop.src[0])) is not None: return found
  return None

def me92339eb092f7964c9f7(uop, ctx):
  if not (uop.arg == v0 and len(uop.src) >= 1 and uop.src[0].op == 33 and len(uop.src[0].src) == 2): return None
  if (found := own(x=uop.src[0].src[0], y=uop.src[0].src[1], r=uop)) is not None: return found
  if (found := own(y=uop.src[0].src[0], x=uop.src[0].src[1], r=uop)) is not None: return found
  return None

def me9b67c2b66c6d72db866(uop, ctx):
  if not (len(uop.src) == 1 and uop.src[0].dtype in v0): return None
  if (found := own(x=uop, y=uop.src[0])) is not None: return found
  return None

def me9ca3004f2814033707e(uop, ctx):
  if not (len(uop.src) == 3 and uop.src[0].op == 45 and all([x0.op == 61 for x0 in uop.src[0].src])): return None
  if (found := own(r=uop, x=uop.src[0])) is not None: return found
  return None

def me9d5d395d5540f065089(uop, ctx):
  if not (len(uop.src) == 2): return None
  if uop.src[0].dtype in v0 and (found := own(a=uop.src[0], b=uop.src[1])) is not None: return found
  if uop.src[1].dtype in v1 and (found := own(b=uop.src[0], a=uop.src[1])) is not None: return found
  return None

def mea85a85fea6d6d8cdcf8(uop, ctx):
  if not (len(uop.src) == 3 and uop.dtype == v0 and uop.src[0].op == 19 and len(uop.src[0].src) == 3): return None
  if (found := own(ctx=ctx, buf=uop.src[0].src[0], idx_y=uop.src[0].src[1], idx_x=uop.src[0].src[2], var=uop.src[1], gate=uop.src[2])) is not None: return found
  return None

def meadf263383504f17f0d5(uop, ctx):
  if not (len(uop.src) >= 1): return None
  if (found := own(ctx=ctx, x=uop)) is not None: return found
  return None

def meaef0bf7333164467a8a(uop, ctx):
  if not (len(uop.src) == 2 and uop.src[0].op == 45 and len(uop.src[0].src) == 2 and uop.src[1].op == 59): return None
  if uop.src[0].src[1].op == 59 and (found := own(x=uop.src[0].src[0], mask=uop.src[0].src[1], c=uop.src[1])) is not None: return found
  if uop.src[0].src[0].op == 59 and (found := own(mask=uop.src[0].src[0], x=uop.src[0].src[1], c=uop.src[1])) is not None: return found
  return None

def meb3d861db7a27496088a(uop, ctx):
  if not (len(uop.src) == 1 and uop.dtype == v0 and uop.src[0].op == 12): return None
  if (found := own()) is not None: return found
  return None

def meb3effa4d849c887e144(uop, ctx):
  if not (uop.arg == v0 and len(uop.src) >= 1 and uop.src[0].op == 52 and len(uop.src[0].src) == 3 and uop.src[0].src[0].op == 45 and len(uop.src[0].src[0].src) == 2 and uop.src[0].src[2].op == 59 and uop.src[0].src[2].arg == 0): return None
  if uop.src[0].src[0].src[0].op == 5 and (found := own(x=uop.src[0].src[0].src[0], y=uop.src[0].src[0].src[1], r=uop, c=uop.src[0].src[1])) is not None: return found
  if uop.src[0].src[0].src[1].op == 5 and (found := own(y=uop.src[0].src[0].src[0], x=uop.src[0].src[0].src[1], r=uop, c=uop.src[0].src[1])) is not None: return found
  return None

def mebbf20fb1a77cda681da(uop, ctx):
  if not (len(uop.src) == 2 and uop.dtype == v0 and uop.src[0].op == 12 and uop.src[1].op == 9): return None
  if (found := own()) is not None: return found
  return None

def mec7b2bebfded919b1857(uop, ctx):
  if not (len(uop.src) == 3 and uop.src[1].op == 9 and uop.src[2].op == 10): return None
  if (found := own(ctx=ctx, prg=uop, source=uop.src[2])) is not None: return found
  return None

def medc1b37651f5cdb955e9(uop, ctx):
  if not (len(uop.src) == 1 and uop.src[0].op == 52 and len(uop.src[0].src) == 3): return None
  if (found := own(cast=uop, s=uop.src[0].src[0], a=uop.src[0].src[1], b=uop.src[0].src[2])) is not None: return found
  return None

def mee281d955cc50a599677(uop, ctx):
  if not (len(uop.src) == 2): return None
  if uop.src[0].op == 33 and len(uop.src[0].src) == 2 and uop.src[1].op == 34 and len(uop.src[1].src) == 2 and uop.src[0].src[1].op == 34 and len(uop.src[0].src[1].src) == 2 and uop.src[0].src[1].src[1].op == 59 and uop.src[1].src[1].op == 59 and uop.src[0].src[1].src[0] is uop.src[1].src[0] and (found := own(y=uop.src[0].src[0], x=uop.src[0].src[1].src[0], c0=uop.src[0].src[1].src[1], c1=uop.src[1].src[1])) is not None: return found
  if uop.src[0].op == 33 and len(uop.src[0].src) == 2 and uop.src[1].op == 34 and len(uop.src[1].src) == 2 and uop.src[0].src[1].op == 34 and len(uop.src[0].src[1].src) == 2 and uop.src[0].src[1].src[1].op == 59 and uop.src[1].src[0].op == 59 and uop.src[0].src[1].src[0] is uop.src[1].src[1] and (found := own(y=uop.src[0].src[0], x=uop.src[0].src[1].src[0], c0=uop.src[0].src[1].src[1], c1=uop.src[1].src[0])) is not None: return found
  if uop.src[0].op == 33 and len(uop.src[0].src) == 2 and uop.src[1].op == 34 and len(uop.src[1].src) == 2 and uop.src[0].src[1].op == 34 and len(uop.src[0].src[1].src) == 2 and uop.src[0].src[1].src[0].op == 59 and uop.src[1].src[1].op == 59 and uop.src[0].src[1].src[1] is uop.src[1].src[0] and (found := own(y=uop.src[0].src[0], c0=uop.src[0].src[1].src[0], x=uop.src[0].src[1].src[1], c1=uop.src[1].src[1])) is not None: return found
  if uop.src[0].op == 33 and len(uop.src[0].src) == 2 and uop.src[1].op == 34 and len(uop.src[1].src) == 2 and uop.src[0].src[1].op == 34 and len(uop.src[0].src[1].src) == 2 and uop.src[0].src[1].src[0].op == 59 and uop.src[1].src[0].op == 59 and uop.src[0].src[1].src[1] is uop.src[1].src[1] and (found := own(y=uop.src[0].src[0], c0=uop.src[0].src[1].src[0], x=uop.src[0].src[1].src[1], c1=uop.src[1].src[0])) is not None: return found
  if uop.src[0].op == 33 and len(uop.src[0].src) == 2 and uop.src[1].op == 34 and len(uop.src[1].src) == 2 and uop.src[0].src[0].op == 34 and len(uop.src[0].src[0].src) == 2 and uop.src[0].src[0].src[1].op == 59 and uop.src[1].src[1].op == 59 and uop.src[0].src[0].src[0] is uop.src[1].src[0] and (found := own(y=uop.src[0].src[1], x=uop.src[0].src[0].src[0], c0=uop.src[0].src[0].src[1], c1=uop.src[1].src[1])) is not None: return found
  if uop.src[0].op == 33 and len(uop.src[0].src) == 2 and uop.src[1].op == 34 and len(uop.src[1].src) == 2 and uop.src[0].src[0].op == 34 and len(uop.src[0].src[0].src) == 2 and uop.src[0].src[0].src[1].op == 59 and uop.src[1].src[0].op == 59 and uop.src[0].src[0].src[0] is uop.src[1].src[1] and (found := own(y=uop.src[0].src[1], x=uop.src[0].src[0].src[0], c0=uop.src[0].src[0].src[1], c1=uop.src[1].src[0])) is not None: return found
  if uop.src[0].op == 33 and len(uop.src[0].src) == 2 and uop.src[1].op == 34 and len(uop.src[1].src) == 2 and uop.src[0].src[0].op == 34 and len(uop.src[0].src[0].src) == 2 and uop.src[0].src[0].src[0].op == 59 and uop.src[1].src[1].op == 59 and uop.src[0].src[0].src[1] is uop.src[1].src[0] and (found := own(y=uop.src[0].src[1], c0=uop.src[0].src[0].src[0], x=uop.src[0].src[0].src[1], c1=uop.src[1].src[1])) is not None: return found
  if uop.src[0].op == 33 and len(uop.src[0].src) == 2 and uop.src[1].op == 34 and len(uop.src[1].src) == 2 and uop.src[0].src[0].op == 34 and len(uop.src[0].src[0].src) == 2 and uop.src[0].src[0].src[0].op == 59 and uop.src[1].src[0].op == 59 and uop.src[0].src[0].src[1] is uop.src[1].src[1] and (found := own(y=uop.src[0].src[1], c0=uop.src[0].src[0].src[0], x=uop.src[0].src[0].src[1], c1=uop.src[1].src[0])) is not None: return found
  if uop.src[0].op == 34 and len(uop.src[0].src) == 2 and uop.src[1].op == 33 and len(uop.src[1].src) == 2 and uop.src[0].src[1].op == 59 and uop.src[1].src[1].op == 34 and len(uop.src[1].src[1].src) == 2 and uop.src[1].src[1].src[1].op == 59 and uop.src[0].src[0] is uop.src[1].src[1].src[0] and (found := own(x=uop.src[0].src[0], c1=uop.src[0].src[1], y=uop.src[1].src[0], c0=uop.src[1].src[1].src[1])) is not None: return found
  if uop.src[0].op == 34 and len(uop.src[0].src) == 2 and uop.src[1].op == 33 and len(uop.src[1].src) == 2 and uop.src[0].src[1].op == 59 and uop.src[1].src[1].op == 34 and len(uop.src[1].src[1].src) == 2 and uop.src[1].src[1].src[0].op == 59 and uop.src[0].src[0] is uop.src[1].src[1].src[1] and (found := own(x=uop.src[0].src[0], c1=uop.src[0].src[1], y=uop.src[1].src[0], c0=uop.src[1].src[1].src[0])) is not None: return found
  if uop.src[0].op == 34 and len(uop.src[0].src) == 2 and uop.src[1].op == 33 and len(uop.src[1].src) == 2 and uop.src[0].src[1].op == 59 and uop.src[1].src[0].op == 34 and len(uop.src[1].src[0].src) == 2 and uop.src[1].src[0].src[1].op == 59 and uop.src[0].src[0] is uop.src[1].src[0].src[0] and (found := own(x=uop.src[0].src[0], c1=uop.src[0].src[1], y=uop.src[1].src[1], c0=uop.src[1].src[0].src[1])) is not None: return found
  if uop.src[0].op == 34 and len(uop.src[0].src) == 2 and uop.src[1].op == 33 and len(uop.src[1].src) == 2 and uop.src[0].src[1].op == 59 and uop.src[1].src[0].op == 34 and len(uop.src[1].src[0].src) == 2 and uop.src[1].src[0].src[0].op == 59 and uop.src[0].src[0] is uop.src[1].src[0].src[1] and (found := own(x=uop.src[0].src[0], c1=uop.src[0].src[1], y=uop.src[1].src[1], c0=uop.src[1].src[0].src[0])) is not None: return found
  if uop.src[0].op == 34 and len(uop.src[0].src) == 2 and uop.src[1].op == 33 and len(uop.src[1].src) == 2 and uop.src[0].src[0].op == 59 and uop.src[1].src[1].op == 34 and len(uop.src[1].src[1].src) == 2 and uop.src[1].src[1].src[1].op == 59 and uop.src[0].src[1] is uop.src[1].src[1].src[0] and (found := own(c1=uop.src[0].src[0], x=uop.src[0].src[1], y=uop.src[1].src[0], c0=uop.src[1].src[1].src[1])) is not None: return found
  if uop.src[0].op == 34 and len(uop.src[0].src) == 2 and uop.src[1].op == 33 and len(uop.src[1].src) == 2 and uop.src[0].src[0].op == 59 and uop.src[1].src[1].op == 34 and len(uop.src[1].src[1].src) == 2 and uop.src[1].src[1].src[0].op == 59 and uop.src[0].src[1] is uop.src[1].src[1].src[1] and (found := own(c1=uop.src[0].src[0], x=uop.src[0].src[1], y=uop.src[1].src[0], c0=uop.src[1].src[1].src[0])) is not None: return found
  if uop.src[0].op == 34 and len(uop.src[0].src) == 2 and uop.src[1].op == 33 and len(uop.src[1].src) == 2 and uop.src[0].src[0].op == 59 and uop.src[1].src[0].op == 34 and len(uop.src[1].src[0].src) == 2 and uop.src[1].src[0].src[1].op == 59 and uop.src[0].src[1] is uop.src[1].src[0].src[0] and (found := own(c1=uop.src[0].src[0], x=uop.src[0].src[1], y=uop.src[1].src[1], c0=uop.src[1].src[0].src[1])) is not None: return found
  if uop.src[0].op == 34 and len(uop.src[0].src) == 2 and uop.src[1].op == 33 and len(uop.src[1].src) == 2 and uop.src[0].src[0].op == 59 and uop.src[1].src[0].op == 34 and len(uop.src[1].src[0].src) == 2 and uop.src[1].src[0].src[0].op == 59 and uop.src[0].src[1] is uop.src[1].src[0].src[1] and (found := own(c1=uop.src[0].src[0], x=uop.src[0].src[1], y=uop.src[1].src[1], c0=uop.src[1].src[0].src[0])) is not None: return found
  return None

def mee299087499a77f563b6(uop, ctx):
  if not (len(uop.src) == 2): return None
  if uop.src[0].dtype == v0 and (found := own(x=uop)) is not None: return found
  if uop.src[1].dtype == v1 and (found := own(x=uop)) is not None: return found
  return None

def meeb0556dc89fd367cc34(uop, ctx):
  if not (len(uop.src) == 2 and uop.src[0].op == 25 and uop.src[1].op == 59): return None
  if (found := own(ctx=ctx, b=uop.src[0], c=uop.src[1])) is not None: return found
  return None

def meeb3622a88fde0b53550(uop, ctx):
  if not (len(uop.src) >= 1 and uop.src[0].op == 24 and len(uop.src[0].src) == 1 and uop.src[0].src[0].op == 59): return None
  if (found := own(x=uop, c=uop.src[0].src[0])) is not None: return found
  return None

def meefe5521e10c67e3e0bb(uop, ctx):
  if not (len(uop.src) >= 1): return None
  if (found := own(s=uop)) is not None: return found
  return None

def mef3959de1fd28e0544e6(uop, ctx):
  if not (len(uop.src) == 3 and uop.src[0].dtype == v0): return None
  if (found := own(w=uop)) is not None: return found
  return None

def meffe8c48665a310af4f1(uop, ctx):
  if not (len(uop.src) == 1 and uop.src[0].op == 42): return None
  if (found := own(x=uop, y=uop.src[0])) is not None: return found
  return None

def mf02d1baefd2899b0eb02(uop, ctx):
  if (found := own(ctx=ctx, tr=uop)) is not None: return found
  return None

def mf091d77e434e62318798(uop, ctx):
  if not (len(uop.src) == 3): return None
  if (found := own(x=uop)) is not None: return found
  return None

def mf1277d94cf3f83b64514(uop, ctx):
  if not (len(uop.src) == 3 and uop.src[2].dtype == v2): return None
  if uop.src[0].op in v0 and (found := own(uidx=uop.src[0], load=uop, alt=uop.src[1], gate=uop.src[2])) is not None: return found
  if uop.src[0].op == 24 and len(uop.src[0].src) == 1 and uop.src[0].src[0].op in v1 and (found := own(uidx=uop.src[0].src[0], load=uop, alt=uop.src[1], gate=uop.src[2])) is not None: return found
  return None

def mf1359a71222f19613c0f(uop, ctx):
  if not (len(uop.src) == 1 and uop.src[0].op == 5): return None
  if (found := own(v=uop.src[0])) is not None: return found
  return None

def mf1667eb84f6eb4847cd8(uop, ctx):
  if not (len(uop.src) == 1 and uop.dtype in v0 and uop.src[0].dtype == v1): return None
  if (found := own(ctx=ctx, x=uop)) is not None: return found
  return None

def mf270d90b4a45da7bb156(uop, ctx):
  if not (len(uop.src) == 2 and uop.src[1].op == 22 and len(uop.src[1].src) == 2): return None
  if (found := own(u=uop, src=uop.src[1].src[1])) is not None: return found
  return None

def mf285291e9f929602d928(uop, ctx):
  if (found := own(function=uop)) is not None: return found
  return None

def mf4c95c70b945a2d0daf3(uop, ctx):
  if not (len(uop.src) >= 2 and uop.src[0].op == 25): return None
  if (found := own(ctx=ctx, c=uop, src=uop.src[0])) is not None: return found
  return None

def mf4cd420ffc67e7db9186(uop, ctx):
  if not (len(uop.src) == 2): return None
  if uop.src[0].op == 34 and len(uop.src[0].src) == 2 and uop.src[1].op == 30 and len(uop.src[1].src) == 1 and uop.src[1].src[0] is uop.src[0].src[1] and (found := own(x2=uop.src[1].src[0], x=uop.src[0].src[0])) is not None: return found
  if uop.src[0].op == 34 and len(uop.src[0].src) == 2 and uop.src[1].op == 30 and len(uop.src[1].src) == 1 and uop.src[1].src[0] is uop.src[0].src[0] and (found := own(x2=uop.src[1].src[0], x=uop.src[0].src[1])) is not None: return found
  if uop.src[0].op == 30 and len(uop.src[0].src) == 1 and uop.src[1].op == 34 and len(uop.src[1].src) == 2 and uop.src[0].src[0] is uop.src[1].src[1] and (found := own(x2=uop.src[0].src[0], x=uop.src[1].src[0])) is not None: return found
  if uop.src[0].op == 30 and len(uop.src[0].src) == 1 and uop.src[1].op == 34 and len(uop.src[1].src) == 2 and uop.src[0].src[0] is uop.src[1].src[0] and (found := own(x2=uop.src[0].src[0], x=uop.src[1].src[1])) is not None: return found
  return None

def mf644b75a8256006356d8(uop, ctx):
  if not (len(uop.src) == 2 and uop.src[0].op in v0 and len(uop.src[0].src) >= 2 and uop.src[0].src[1].op == 52 and len(uop.src[0].src[1].src) == 3 and uop.src[0].src[1].src[2].arg == v1): return None
  if (found := own(mop=uop.src[0], gate=uop.src[0].src[1].src[0], idx=uop.src[0].src[1].src[1], data=uop.src[1])) is not None: return found
  return None

def mf6915f9731e1ea7381c9(uop, ctx):
  if not (len(uop.src) == 1 and uop.dtype == v0 and uop.src[0].dtype in v1): return None
  if (found := own(x=uop, y=uop.src[0])) is not None: return found
  return None

def mf76721785625dc7592d7(uop, ctx):
  if (found := own(valid=uop)) is not None: return found
  return None

def mf8632015329a9434ebea(uop, ctx):
  if not (len(uop.src) == 2 and uop.src[0].op in v0 and uop.src[1].op == 71): return None
  if (found := own(b=uop.src[0], s=uop.src[1])) is not None: return found
  return None

def mf9333ce37c717df032ce(uop, ctx):
  if not (len(uop.src) == 2 and uop.dtype == v0): return None
  if uop.src[0].op == 40 and len(uop.src[0].src) == 2 and uop.src[0].dtype == v1 and uop.src[0].src[0].op == 59 and uop.src[0].src[1].dtype in v2 and uop.src[1].op == 59 and uop.src[1].arg == 1 and (found := own(c=uop.src[0].src[0], x=uop.src[0].src[1])) is not None: return found
  if uop.src[0].op == 59 and uop.src[0].arg == 1 and uop.src[1].op == 40 and len(uop.src[1].src) == 2 and uop.src[1].dtype == v3 and uop.src[1].src[0].op == 59 and uop.src[1].src[1].dtype in v4 and (found := own(c=uop.src[1].src[0], x=uop.src[1].src[1])) is not None: return found
  return None

def mf9cdce2c73b668e2cdac(uop, ctx):
  if not (len(uop.src) == 2 and uop.src[0].op == 12 and uop.src[1].op == 9): return None
  if (found := own(prg=uop, sink=uop.src[0], lin=uop.src[1])) is not None: return found
  return None

def mfab1ec1ddbe370c43f2e(uop, ctx):
  if not (len(uop.src) == 2 and uop.src[0].op in v0 and uop.src[1].op in v1): return None
  if (found := own(a=uop)) is not None: return found
  return None

def mfac102ee778092077c2d(uop, ctx):
  if not (len(uop.src) == 3 and uop.src[0].op == 5 and uop.src[2].arg == 4): return None
  if (found := own(ctx=ctx, buf=uop.src[0], x=uop.src[1])) is not None: return found
  return None

def mfae89163f0f602b8f9c5(uop, ctx):
  if not (len(uop.src) == 2 and uop.src[1].op == 52 and len(uop.src[1].src) == 3 and uop.src[1].src[2].op == 59 and uop.src[1].src[2].arg == v0): return None
  if (found := own(alu=uop, y=uop.src[0], cond=uop.src[1].src[0], x=uop.src[1].src[1], i=uop.src[1].src[2])) is not None: return found
  return None

def mfc60ffedc1e2f74e3787(uop, ctx):
  if not (len(uop.src) == 1 and uop.dtype == v0): return None
  if (found := own(x=uop.src[0])) is not None: return found
  return None

def mfca393163343753b1590(uop, ctx):
  if not (len(uop.src) == 2 and uop.src[1].op == 33 and len(uop.src[1].src) == 2): return None
  if uop.src[1].src[0].op == 55 and uop.src[1].src[1].op == 59 and (found := own(ctx=ctx, c=uop.src[1].src[1], b=uop.src[0])) is not None: return found
  if uop.src[1].src[0].op == 59 and uop.src[1].src[1].op == 55 and (found := own(ctx=ctx, c=uop.src[1].src[0], b=uop.src[0])) is not None: return found
  return None

def mfcbe7592bc606d80b559(uop, ctx):
  if not (len(uop.src) >= 1 and uop.dtype == v0 and uop.src[0].op in v1): return None
  if (found := own()) is not None: return found
  return None

def mfcf165d36ea4aaffa4d9(uop, ctx):
  if not (len(uop.src) == 1 and uop.dtype in v0): return None
  if (found := own(d=uop.src[0])) is not None: return found
  return None

def mfddfb6901307da87b78d(uop, ctx):
  if not (len(uop.src) == 3 and uop.src[2].op == 52 and len(uop.src[2].src) == 3 and uop.src[2].src[2].op == 59 and uop.src[2].src[2].arg == v0): return None
  if (found := own(a=uop.src[0], b=uop.src[1], cond=uop.src[2].src[0], x=uop.src[2].src[1], i=uop.src[2].src[2])) is not None: return found
  return None

def mfe93f173c84d1ff9ccfb(uop, ctx):
  if not (len(uop.src) == 3 and uop.src[1].op == 55 and uop.src[1].dtype == v0): return None
  if (found := own(ctx=ctx, l=uop.src[1], c=uop.src[2])) is not None: return found
  return None

def mff73c8aae4a146952b97(uop, ctx):
  if not (len(uop.src) == 1 and uop.src[0].op == 34 and len(uop.src[0].src) == 2 and uop.src[0].src[0] is uop.src[0].src[1]): return None
  if (found := own(x=uop.src[0].src[0])) is not None: return found
  return None

def mff781ce380d68f7b8512(uop, ctx):
  if not (len(uop.src) == 1 and uop.src[0].op == 41): return None
  if (found := own(x=uop, y=uop.src[0])) is not None: return found
  return None

def mff7c59d5a57a84487a4c(uop, ctx):
  if not (uop.dtype == v0): return None
  if (found := own()) is not None: return found
  return None
