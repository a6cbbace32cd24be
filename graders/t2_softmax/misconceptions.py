from graders.misconception import Misconception

MISCONCEPTIONS: tuple[Misconception, ...] = ()
