# Makes the .npy files here (NumPy 1.24); they are kept as files so that the tests need no Python.
import numpy as np
a = np.array([[1.5, -2.25, 3.0], [0.1, 1e-300, 12345678.875]])
def save(name, x, version=None):
    with open(name, "wb") as f:
        np.lib.format.write_array(f, x, version=version)
for t in ("<f8", ">f8", "<f4", ">f4"):
    n = ("le" if t[0] == "<" else "be") + t[1:]
    x = a if t[2] == "8" else np.where(abs(a) < 1e-30, 0.25, a)
    save("c_%s.npy" % n, np.ascontiguousarray(x.astype(t)))
    save("f_%s.npy" % n, np.asfortranarray(x.astype(t)))
save("v2.npy", a, (2, 0)); save("v3.npy", a, (3, 0))
save("vector.npy", np.array([1.0, 2.0, 4.0])); save("row.npy", np.array([[1.0, 2.0, 4.0]]))
save("bad_int64.npy", np.arange(6).reshape(2, 3)); save("bad_complex.npy", a.astype("c16"))
save("bad_3d.npy", a.reshape(1, 2, 3)); save("bad_0d.npy", np.array(1.0)); save("bad_empty.npy", np.zeros((0, 3)))
save("bad_record.npy", np.zeros(2, dtype=[("x", "<f8")]))
