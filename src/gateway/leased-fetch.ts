// fetch for the effects of a turn: a request waits until the turn's lease is safely ours.
import type { Lease } from '../sessions/lease-keeper.ts'

/** `send` asks once more at the first byte. */
export function leasedFetch({ untilHeld }: Pick<Lease, 'untilHeld'>, send: typeof fetch): typeof fetch {
  return async (input, init) => {
    await untilHeld()
    return send(input, init)
  }
}
