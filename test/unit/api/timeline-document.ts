// docs/explain.md holds what explain says of twelve fates. Told from real facts whose ids and times are made even, so that
// the same fate always reads the same.
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Explanation } from '../../../src/api/explain/explain.ts'
import { buildTimeline } from '../../../src/api/explain/timeline.ts'
import { renderTimeline } from '../../../src/cli/explain.ts'
import type { DeliveryFacts, EditFacts, Facts, MessageFacts, PairingFacts, TurnFacts } from '../../../src/db/explain.ts'

const path = fileURLToPath(new URL('../../../docs/explain.md', import.meta.url))
const start = Date.parse('2026-11-17T09:30:00.000Z')
const tickMs = 40
const uuid = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g

/** The block below `## heading`, as the document has it. With PARLEY_WRITE_DOCS the document is brought up to date. */
export function documentedStory(heading: string, told: string): string | undefined {
  const text = readFileSync(path, 'utf8')
  const block = new RegExp(`(^## ${heading}\\n[\\s\\S]*?\`\`\`text\\n)([\\s\\S]*?)(\`\`\`)`, 'm')
  if (process.env['PARLEY_WRITE_DOCS'] !== undefined) {
    writeFileSync(
      path,
      text.replace(block, (_, head: string, _old, tail: string) => `${head}${told}${tail}`),
    )
    return told
  }
  return block.exec(text)?.[2]
}

export function evenStory(explanation: Explanation): string {
  const facts = evenTimes(withEvenIds(explanation.facts))
  const told = { ...explanation, facts, story: buildTimeline(facts) }
  return renderTimeline(told, { isColourful: false, columns: 100, now: start + 90_000 })
}

function withEvenIds(facts: Facts): Facts {
  const ids = new Map<string, string>()
  const even = (id: string): string => {
    const known = ids.get(id) ?? `019c0000-0000-7000-8000-${String(ids.size + 1).padStart(12, '0')}`
    ids.set(id, known)
    return known
  }
  const text = JSON.stringify(facts).replace(uuid, even)
  return JSON.parse(text.replace(/"traceId":"[0-9a-f]{32}"/g, '"traceId":"019c00000000700080000000000000ff"')) as Facts
}

/** Every moment one tick after the one that comes before it in the journey: clocks differ, the order of things does not. */
function evenTimes({ message, turns, deliveries, edits, decisions }: Facts): Facts {
  let ticks = 0
  const tick = (): string => new Date(start + tickMs * ticks++).toISOString()
  const tickIf = <T>(value: T | null): string | null => (value === null ? null : tick())
  const receivedAt = tick()
  const isEarly = (edit: EditFacts) => edit.turnId === message?.turnId
  const early = edits.filter(isEarly).map((edit) => ({ ...edit, receivedAt: tick() }))
  const pairing = evenPairing(message?.pairing ?? null, tick)
  const evenTurns = turns.map((turn) => evenTurn(turn, tick))
  const evenDeliveries = deliveries.map((delivery) => evenDelivery(delivery, tick))
  const endedAt = tickIf(message?.endedAt ?? null)
  const late = edits.filter((edit) => !isEarly(edit)).map((edit) => ({ ...edit, receivedAt: tick() }))
  const duplicates = message?.duplicates == null ? null : { ...message.duplicates, lastAt: tick() }
  const evenMessage: MessageFacts | null =
    message === null ? null : { ...message, receivedAt, endedAt, duplicates, pairing, platformAt: null }
  const evenEdits = [...early, ...late]
  const evenDecisions = decisions.map((each, index) => ({ ...each, at: decidedAt(index) }))
  return {
    message: evenMessage,
    turns: evenTurns,
    deliveries: evenDeliveries,
    edits: evenEdits,
    decisions: evenDecisions,
  }

  /** An admission opens a turn; what an operator does follows the turn before. */
  function decidedAt(index: number): string {
    const admissions = decisions.slice(0, index + 1).filter((each) => each.action === 'message.admit').length
    const turn = evenTurns[admissions - 1]
    const isAdmission = decisions[index]?.action === 'message.admit'
    return (isAdmission ? turn?.startedAt : turn?.endedAt) ?? endedAt ?? receivedAt
  }
}

function evenPairing(pairing: PairingFacts | null, tick: () => string): PairingFacts | null {
  if (pairing === null) return null
  const expiresAt = new Date(start + 7 * 86_400_000).toISOString()
  const createdAt = tick()
  return { ...pairing, code: 'BCDF2345', createdAt, expiresAt, decidedAt: pairing.decidedAt === null ? null : tick() }
}

function evenTurn(turn: TurnFacts, tick: () => string): TurnFacts {
  const startedAt = tick()
  const steps = turn.steps.map((step) => ({ ...step, startedAt: tick(), finishedAt: tick() }))
  // The end of the turn by its deliveries is told there.
  const history = turn.history.map((event) => (event.what === 'answered' ? event : { ...event, at: tick() }))
  const endedAt = turn.endedAt === null ? null : tick()
  const errors = turn.errors.map((each) => ({
    ...each,
    at: history.findLast((event) => event.attempt === each.attempt)?.at ?? startedAt,
    error: { ...each.error, stack: ['at Object.run (file:///app/parley.config.ts:6:72)'] },
  }))
  return { ...turn, startedAt, steps, history, endedAt, errors }
}

function evenDelivery(delivery: DeliveryFacts, tick: () => string): DeliveryFacts {
  return {
    ...delivery,
    createdAt: tick(),
    history: delivery.history.map((event) => ({ ...event, startedAt: tick(), at: tick() })),
    settledAt: delivery.settledAt === null ? null : tick(),
  }
}
