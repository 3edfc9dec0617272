// Telegram lets a bot say about twenty things a minute in one group. Looked at before a call is made, so that none is refused;
// the wait itself is kept by the gateway, which is told of it like of any other limit.

export interface GroupPace {
  /** How long to wait before saying one more thing there; nothing is counted. */
  waitMs(chatId: number, reserve?: number): number
  count(chatId: number): void
}

const windowMs = 60_000
const maxChats = 2000

export function createGroupPace(now: () => number, perMinute: number): GroupPace {
  const said = new Map<number, readonly number[]>()
  const recent = (chatId: number): readonly number[] =>
    (said.get(chatId) ?? []).filter((at) => at > now() - windowMs && at <= now())
  return {
    waitMs(chatId, reserve = 0) {
      // Groups and channels have negative ids.
      if (chatId >= 0) return 0
      const times = recent(chatId)
      const freedBy = times[times.length - (perMinute - reserve)]
      return freedBy === undefined ? 0 : Math.max(1, freedBy + windowMs - now())
    },
    count(chatId) {
      if (chatId >= 0) return
      said.set(chatId, [...recent(chatId), now()])
      if (said.size <= maxChats) return
      const oldest = said.keys().next()
      if (!oldest.done) said.delete(oldest.value)
    },
  }
}
