// The concurrency slots that turns and sends run in: no agent and no connection may hold them all while there are others.

import type { FullSlots, HeldLane } from '../db/turn-rows.ts'
import type { SlotHolder, SlotUse } from '../observability/process-metrics.ts'

import type { TurnPolicy } from './turn-policy.ts'

/** A send has no agent: connections alone share its slots. */
export type SlotLane = { readonly agent?: string; readonly connection: string }

type Lane = Pick<HeldLane, 'agent' | 'connection'>

export type Slots = {
  /** How many lanes may be claimed at once without exceeding any share, and whose may not be claimed at all. */
  readonly room: (limit: number) => { readonly limit: number; readonly full: FullSlots }
  /** Call what it returns when the turn has ended. */
  readonly take: (lane: SlotLane) => () => void
  readonly use: () => SlotUse
}

export type SlotShares = { readonly agent: number; readonly connection: number; readonly pair: number }

/**
 * Each agent leaves `reservedSlots` to other agents, each connection as many to other connections, and an agent on one
 * connection both. Where there is no other there is nothing to leave.
 */
export function chooseSlotShares(
  { slots, reservedSlots }: Pick<TurnPolicy, 'slots' | 'reservedSlots'>,
  { agents, connections }: { readonly agents: number; readonly connections: number },
): SlotShares {
  const forAgents = agents > 1 ? reservedSlots : 0
  const forConnections = connections > 1 ? reservedSlots : 0
  const subtractReserved = (reserved: number): number => Math.max(1, slots - reserved)
  return {
    agent: subtractReserved(forAgents),
    connection: subtractReserved(forConnections),
    pair: subtractReserved(forAgents + forConnections),
  }
}

type Pair = Lane & { readonly startedAt: Set<{ readonly at: number }>; fullSince: number | undefined }

export function createSlots(slots: number, shares: SlotShares, monotonicMs: () => number): Slots {
  const pairs = new Map<string, Pair>()
  let used = 0
  let fullSince: number | undefined
  const countHeld = () => {
    const byAgent = new Map<string, number>()
    const byConnection = new Map<string, number>()
    for (const { agent, connection, startedAt } of pairs.values()) {
      byAgent.set(agent, (byAgent.get(agent) ?? 0) + startedAt.size)
      byConnection.set(connection, (byConnection.get(connection) ?? 0) + startedAt.size)
    }
    return { byAgent, byConnection }
  }
  const noteFullPairs = (changed: Lane): void => {
    const { byAgent, byConnection } = countHeld()
    for (const pair of pairs.values()) {
      const { agent, connection, startedAt } = pair
      if (agent !== changed.agent && connection !== changed.connection) continue
      const isFull =
        startedAt.size >= shares.pair ||
        (byAgent.get(agent) ?? 0) >= shares.agent ||
        (byConnection.get(connection) ?? 0) >= shares.connection
      pair.fullSince = isFull ? (pair.fullSince ?? monotonicMs()) : undefined
    }
  }
  return {
    room(limit) {
      const { byAgent, byConnection } = countHeld()
      const full = { agents: [] as string[], connections: [] as string[], pairs: [] as string[] }
      let room = Math.min(limit, ...Object.values(shares))
      const noteFullKey = (key: string, held: number, share: number, fullKeys: string[]): void => {
        if (held >= share) fullKeys.push(key)
        else room = Math.min(room, share - held)
      }
      for (const [key, { startedAt }] of pairs) noteFullKey(key, startedAt.size, shares.pair, full.pairs)
      for (const [key, held] of byAgent) noteFullKey(key, held, shares.agent, full.agents)
      for (const [key, held] of byConnection) noteFullKey(key, held, shares.connection, full.connections)
      return { limit: room, full }
    },
    take({ agent = '', connection }) {
      // As the claim names what it passes by.
      const key = `${connection} ${agent}`
      const pair = pairs.get(key) ?? { agent, connection, startedAt: new Set(), fullSince: undefined }
      pairs.set(key, pair)
      const begun = { at: monotonicMs() }
      pair.startedAt.add(begun)
      used += 1
      if (used >= slots) fullSince ??= begun.at
      noteFullPairs(pair)
      return () => {
        if (!pair.startedAt.delete(begun)) return
        if (pair.startedAt.size === 0) pairs.delete(key)
        used -= 1
        if (used < slots) fullSince = undefined
        noteFullPairs(pair)
      }
    },
    use() {
      const now = monotonicMs()
      const holders = [...pairs.values()].map(
        ({ agent, connection, startedAt: [...begun], fullSince: since }): SlotHolder => ({
          agent,
          connection,
          used: begun.length,
          oldestMs: now - (begun[0]?.at ?? now),
          fullMs: since === undefined ? null : now - since,
        }),
      )
      holders.sort((a, b) => b.used - a.used)
      return { slots, used, fullMs: fullSince === undefined ? null : now - fullSince, holders }
    },
  }
}
