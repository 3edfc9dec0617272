// A sign that somebody is at work, for turns that take a while and show nothing else. Outside the books: a sign that does not
// arrive is no loss, and none is waited for.
import type { Lease } from '../sessions/lease-keeper.ts'
import type { GatewayDeps } from './deps.ts'
import type { LiveMessage } from './live-message.ts'
import type { ReadyTurn } from './prepare-turn.ts'

/** Platforms show a sign for about five seconds. */
const everyMs = 4_000

export function showTyping(
  { turnPolicy }: Pick<GatewayDeps, 'turnPolicy'>,
  { at, lane, turn }: ReadyTurn,
  { lease, live }: { readonly lease: Lease; readonly live: Pick<LiveMessage, 'isShown'> },
): () => void {
  const { transient } = at.adapter
  if (transient === undefined || turn.kind === 'control') return () => {}
  let isUnderWay = false
  const sign = async (): Promise<void> => {
    if (isUnderWay || live.isShown() || !lease.isHeld()) return
    isUnderWay = true
    try {
      await transient(lane.replyTo, 'typing')
    } catch {
      // The next one may work.
    } finally {
      isUnderWay = false
    }
  }
  let timer: ReturnType<typeof setTimeout>
  const arm = (ms: number): void => {
    timer = setTimeout(() => {
      void sign()
      arm(everyMs)
    }, ms)
  }
  arm(turnPolicy.typingAfterMs)
  return () => clearTimeout(timer)
}
