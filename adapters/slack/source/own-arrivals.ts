// Which requests came over our own authenticated socket. Known by the identity of their bytes: nothing that a request can
// contain, header or body, makes it one of them.
import type { RawArrival } from '../../../src/contract/index.ts'

export type OwnArrivals = {
  readonly add: (arrival: RawArrival) => RawArrival
  readonly has: (arrival: RawArrival) => boolean
}

export function createOwnArrivals(): OwnArrivals {
  const own = new WeakSet<Uint8Array>()
  return {
    add(arrival) {
      own.add(arrival.bytes)
      return arrival
    },
    has: ({ bytes }) => own.has(bytes),
  }
}
