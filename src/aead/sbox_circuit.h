// The AES S-box as a circuit of XOR and AND gates, for bit-sliced kernels: the
// 113-gate design of Boyar and Peralta ("A depth-16 circuit for the AES S-box",
// 2011). Its four NOTs are left out: the output is S(x) ^ 0x63, and callers fold
// the constant into their round keys (MixColumns maps 0x63 in every byte to
// itself). sbox_circuit_test checks all 256 inputs against the definition.
#pragma once

#include "aead/attributes.h"

namespace quasi::aead {

/// Planes: q[i] holds bit i (value 2^i) of every byte. W needs ^ and &.
template <class W>
QUASI_INLINE void sbox_without_constant(W (&q)[8]) {
  // Top linear layer: 23 sums of the input bits, u0 the most significant.
  const W u0 = q[7], u1 = q[6], u2 = q[5], u3 = q[4], u4 = q[3], u5 = q[2], u6 = q[1], u7 = q[0];
  const W y14 = u3 ^ u5, y13 = u0 ^ u6, y9 = u0 ^ u3, y8 = u0 ^ u5;
  const W a0 = u1 ^ u2;
  const W y1 = a0 ^ u7, y4 = y1 ^ u3, y12 = y13 ^ y14, y2 = y1 ^ u0, y5 = y1 ^ u6, y3 = y5 ^ y8;
  const W a1 = u4 ^ y12;
  const W y15 = a1 ^ u5, y20 = a1 ^ u1, y6 = y15 ^ u7, y10 = y15 ^ a0, y11 = y20 ^ y9;
  const W y7 = u7 ^ y11, y17 = y10 ^ y11, y19 = y10 ^ y8, y16 = a0 ^ y11, y21 = y13 ^ y16;
  const W y18 = u0 ^ y16;

  // Middle: inversion in GF(2^8) through GF(2^4).
  const W m2 = y12 & y15, m4 = (y3 & y6) ^ m2, m6 = (y4 & u7) ^ m2;
  const W m7 = y13 & y16, m9 = (y5 & y1) ^ m7, m11 = (y2 & y7) ^ m7;
  const W m12 = y9 & y11, m14 = (y14 & y17) ^ m12, m16 = (y8 & y10) ^ m12;
  const W m21 = m4 ^ m14 ^ y20, m22 = m6 ^ m16 ^ y19, m23 = m9 ^ m14 ^ y21;
  const W m24 = m11 ^ m16 ^ y18;
  const W m25 = m21 ^ m22, m26 = m21 & m23, m27 = m24 ^ m26;
  const W m29 = (m25 & m27) ^ m22, m30 = m23 ^ m24, m31 = m22 ^ m26;
  const W m33 = (m31 & m30) ^ m24, m34 = m23 ^ m33, m35 = m27 ^ m33;
  const W m36 = m24 & m35, m37 = m36 ^ m34, m38 = m27 ^ m36;
  const W m40 = m25 ^ (m29 & m38);
  const W m41 = m40 ^ m37, m42 = m29 ^ m33, m43 = m29 ^ m40, m44 = m33 ^ m37, m45 = m42 ^ m41;
  const W z0 = m44 & y15, z1 = m37 & y6, z2 = m33 & u7, z3 = m43 & y16, z4 = m40 & y1;
  const W z5 = m29 & y7, z6 = m42 & y11, z7 = m45 & y17, z8 = m41 & y10, z9 = m44 & y12;
  const W z10 = m37 & y3, z11 = m33 & y4, z12 = m43 & y13, z13 = m40 & y5, z14 = m29 & y2;
  const W z15 = m42 & y9, z16 = m45 & y14, z17 = m41 & y8;

  // Bottom linear layer, with the affine map's matrix.
  const W b46 = z15 ^ z16, b47 = z10 ^ z11, b48 = z5 ^ z13, b49 = z9 ^ z10, b50 = z2 ^ z12;
  const W b51 = z2 ^ z5, b52 = z7 ^ z8, b53 = z0 ^ z3, b54 = z6 ^ z7, b55 = z16 ^ z17;
  const W b56 = z12 ^ b48, b57 = b50 ^ b53, b58 = z4 ^ b46, b59 = z3 ^ b54, b60 = b46 ^ b57;
  const W b61 = z14 ^ b57, b62 = b52 ^ b58, b63 = b49 ^ b58, b64 = z4 ^ b59, b65 = b61 ^ b62;
  const W b66 = z1 ^ b63, b67 = b64 ^ b65;
  const W s3 = b53 ^ b66;
  q[7] = b59 ^ b63;
  q[6] = b64 ^ s3;
  q[5] = b55 ^ b67;
  q[4] = s3;
  q[3] = b51 ^ b66;
  q[2] = b47 ^ b65;
  q[1] = b56 ^ b62;
  q[0] = b48 ^ b60;
}

}  // namespace quasi::aead
