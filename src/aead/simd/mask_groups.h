// Header masks in groups, so that no pass of a kernel is mostly empty.
#pragma once

#include <algorithm>
#include <span>

#include "aead/simd/v128.h"
#include "quasi/aead.h"

namespace quasi::aead::simd {

/// Calls encrypt.operator()<n>(V (&)[n]) for groups of 8, 4 and 1 samples. A group may be filled
/// up with repeated samples.
template <class Encrypt>
QUASI_INLINE void mask_groups(std::span<MaskJob> jobs, const Encrypt& encrypt) {
  const auto group = [&]<unsigned kBlocks>(std::size_t count) {
    V x[kBlocks];
    for (unsigned i = 0; i < kBlocks; ++i)
      x[i] = load(jobs[std::min<std::size_t>(i, count - 1)].sample);
    encrypt.template operator()<kBlocks>(x);
    for (unsigned i = 0; i < kBlocks; ++i)
      if (i < count) store(jobs[i].mask.data(), x[i]);
    jobs = jobs.subspan(count);
  };
  while (jobs.size() > 4) group.template operator()<8>(std::min<std::size_t>(jobs.size(), 8));
  if (jobs.size() > 1) group.template operator()<4>(jobs.size());
  if (jobs.size() == 1) group.template operator()<1>(1);
}

}  // namespace quasi::aead::simd
