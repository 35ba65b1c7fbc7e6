// A plain port of stage 00: the majority rule, and the 3D spin glass with MINSTD. The same bits; hashes prove it.
"use strict";
globalThis.psflip ??= {};
(() => {
  const WORD = (1n << 64n) - 1n;

  /** random/streams.hpp */
  function mix(z) {
    z = (z + 0x9e3779b97f4a7c15n) & WORD;
    z = ((z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n) & WORD;
    z = ((z ^ (z >> 27n)) * 0x94d049bb133111ebn) & WORD;
    return z ^ (z >> 31n);
  }
  const DYNAMICS = 0n, COUPLINGS = 1n, START = 2n;
  const family = (seed, purpose, i) => mix((mix((mix(BigInt(seed)) + purpose) & WORD) + BigInt(i)) & WORD);
  const member = (first, j) => mix((first + BigInt(j)) & WORD);

  /** app/state_hash.hpp: FNV-1a over a byte per spin. The 64 bits are kept as two halves of 32. */
  function stateHash(arrays) {
    let high = 0xcbf29ce4, low = 0x84222325;
    for (const spins of arrays)
      for (const spin of spins) {
        low = (low ^ (spin > 0 ? 1 : 0)) >>> 0;
        const product = low * 0x1b3; // times 2^40 + 0x1b3
        high = (Math.imul(high, 0x1b3) + Math.floor(product / 2 ** 32) + (low << 8)) >>> 0;
        low = product % 2 ** 32;
      }
    return [high, low].map((half) => half.toString(16).padStart(8, "0")).join("");
  }

  /** MT19937, as std::mt19937 seeds it; gives 32 bits. */
  function mersenneTwister(seed) {
    const state = new Uint32Array(624);
    state[0] = seed;
    for (let i = 1; i < 624; ++i) state[i] = Math.imul(1812433253, state[i - 1] ^ (state[i - 1] >>> 30)) + i;
    let next = 624;
    return () => {
      if (next === 624) {
        for (let i = 0; i < 624; ++i) {
          const y = (state[i] & 0x80000000) | (state[(i + 1) % 624] & 0x7fffffff);
          state[i] = state[(i + 397) % 624] ^ (y >>> 1) ^ (y & 1 ? 0x9908b0df : 0);
        }
        next = 0;
      }
      let y = state[next++];
      y ^= y >>> 11;
      y ^= (y << 7) & 0x9d2c5680;
      y ^= (y << 15) & 0xefc60000;
      return (y ^ (y >>> 18)) >>> 0;
    };
  }

  /** Stage 00 in two dimensions. */
  class Majority {
    constructor(size, seed = 42) {
      this.size = size;
      const random = mersenneTwister(seed);
      this.spins = Int8Array.from({ length: size * size }, () => (random() >>> 31 ? 1 : -1));
    }
    advance() {
      const n = this.size, now = this.spins, next = new Int8Array(n * n);
      for (let y = 0; y < n; ++y)
        for (let x = 0; x < n; ++x) {
          const sum = now[y * n + x] + now[y * n + (x + 1) % n] + now[y * n + (x + n - 1) % n] +
            now[(y + 1) % n * n + x] + now[(y + n - 1) % n * n + x];
          next[y * n + x] = sum > 0 ? 1 : -1;
        }
      this.spins = next;
    }
    hash() {
      return stateHash([this.spins]);
    }
    energy() {
      const n = this.size;
      let sum = 0;
      for (let y = 0; y < n; ++y)
        for (let x = 0; x < n; ++x) sum += this.spins[y * n + x] * (this.spins[y * n + (x + 1) % n] + this.spins[(y + 1) % n * n + x]);
      return -sum / (n * n);
    }
  }

  /** What a draw of MINSTD must be less than, by the number of unsatisfied bonds. */
  const thresholds = (temperature) =>
    [12, 8, 4].map((energy) => Math.min(Math.floor(Math.exp((-1 / temperature) * energy) * (2 ** 31 - 2)), 2 ** 32 - 1));

  /** Stage 00 in three dimensions: samples that share their streams, one replica each. */
  class SpinGlass {
    constructor({ size, samples = 1, seed = 42, temperature = 1.1, ferromagnetic = 0.5, ordered = false }) {
      Object.assign(this, { size, samples, temperature });
      const sites = size ** 3, limit = BigInt(Math.ceil(ferromagnetic * 2 ** 53));
      this.couplings = [];
      this.spins = [];
      for (let sample = 0; sample < samples; ++sample) {
        const bonds = family(seed, COUPLINGS, sample), start = member(family(seed, START, sample), 0);
        this.couplings.push(Int8Array.from({ length: 3 * sites }, (_, bond) => (member(bonds, bond) >> 11n < limit ? 1 : -1)));
        this.spins.push(Int8Array.from({ length: sites }, (_, s) => (ordered || mix((start + BigInt(s)) & WORD) >> 63n ? 1 : -1)));
      }
      const streams = family(seed, DYNAMICS, 0);
      this.streams = Float64Array.from({ length: sites }, (_, s) => 1 + Number(member(streams, s) % 0x7ffffffen));
      this.halfSweeps = 0;
    }
    draw(site) {
      const product = 16807 * this.streams[site]; // below 2^53
      this.streams[site] = product % 0x7fffffff;
      return this.streams[site] - 1;
    }
    around(site) {
      const L = this.size, x = site % L, y = Math.floor(site / L) % L, z = Math.floor(site / (L * L));
      const at = (a, b, c) => (a + L) % L + L * ((b + L) % L + L * ((c + L) % L));
      const left = at(x - 1, y, z), before = at(x, y - 1, z), below = at(x, y, z - 1);
      return [
        [at(x + 1, y, z), 3 * site], [left, 3 * left], [at(x, y + 1, z), 3 * site + 1], [before, 3 * before + 1],
        [at(x, y, z + 1), 3 * site + 2], [below, 3 * below + 2],
      ];
    }
    /** The six terms J s s' of a site in a sample: 1 where the bond is satisfied. */
    bonds(sample, site) {
      const spins = this.spins[sample], couplings = this.couplings[sample];
      return this.around(site).map(([other, bond]) => couplings[bond] * spins[site] * spins[other]);
    }
    colourOf(site) {
      const L = this.size;
      return (site % L + Math.floor(site / L) % L + Math.floor(site / (L * L))) % 2;
    }
    sitesOf(colour) {
      this.lists ??= [0, 1].map((c) => Array.from({ length: this.size ** 3 }, (_, s) => s).filter((s) => this.colourOf(s) === c));
      return this.lists[colour];
    }
    flips(satisfied, draw, limits) {
      const unsatisfied = 6 - satisfied;
      return unsatisfied >= 3 || draw < limits[unsatisfied];
    }
    halfSweep() {
      const limits = thresholds(this.temperature);
      for (const site of this.sitesOf(this.halfSweeps % 2)) {
        const draw = this.draw(site);
        for (let sample = 0; sample < this.samples; ++sample) {
          const satisfied = this.bonds(sample, site).filter((term) => term > 0).length;
          if (this.flips(satisfied, draw, limits)) this.spins[sample][site] *= -1;
        }
      }
      ++this.halfSweeps;
    }
    advance() {
      this.halfSweep();
      this.halfSweep();
    }
    /** The mistake that stage 04 is about: every site decides by the old state of its neighbours. */
    advanceAllAtOnce() {
      const limits = thresholds(this.temperature);
      this.spins = this.spins.map((spins, sample) =>
        spins.map((spin, site) => {
          const satisfied = this.bonds(sample, site).filter((term) => term > 0).length;
          return this.flips(satisfied, this.draw(site), limits) ? -spin : spin;
        }));
    }
    hash() {
      return stateHash(this.spins);
    }
    energy(sample = 0) {
      let sum = 0;
      for (let site = 0; site < this.size ** 3; ++site) {
        const terms = this.bonds(sample, site);
        sum += terms[0] + terms[2] + terms[4];
      }
      return -sum / this.size ** 3;
    }
  }

  /** Spins as squares on a canvas. */
  function paint(canvas, spins, size) {
    canvas.width = canvas.height = size;
    const style = getComputedStyle(canvas), context = canvas.getContext("2d");
    for (let i = 0; i < size * size; ++i) {
      context.fillStyle = style.getPropertyValue(spins[i] > 0 ? "--c1" : "--c0");
      context.fillRect(i % size, Math.floor(i / size), 1, 1);
    }
  }

  Object.assign(psflip, { Majority, SpinGlass, thresholds, stateHash, paint });
})();
