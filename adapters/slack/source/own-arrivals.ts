// Which requests came over our own authenticated socket. Known by the identity of their bytes: nothing that a request can
// contain, header or body, makes it one of them.
import type { RawRequest } from '../../../src/contract/index.ts'

export type SocketRequests = {
  readonly add: (arrival: RawRequest) => RawRequest
  readonly has: (arrival: RawRequest) => boolean
}

export function createSocketRequests(): SocketRequests {
  const own = new WeakSet<Uint8Array>()
  return {
    add(arrival) {
      own.add(arrival.bytes)
      return arrival
    },
    has: ({ bytes }) => own.has(bytes),
  }
}
