// Metrics on Node, through prom-client. Labels are bounded, whatever is reported.
import { Counter, collectDefaultMetrics, Histogram, Registry } from 'prom-client'
import type { Meter } from '../contract/metrics.ts'

export type NodeMeter = Meter & { readonly read: () => Promise<string> }

const commitSeconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5]
const turnSeconds = [0.01, 0.05, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 600]
const toolSeconds = [0.01, 0.05, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 300]
const sendSeconds = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

/** Different words one label may take; what comes later is `other`. Far more than there are codes. */
const maxWords = 200

/** A registry of its own: nothing outlives the gateway it counts for. */
export function createNodeMeter(): NodeMeter {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const { counter, histogram } = createMetricFactories(registry)
  const inboundEvents = counter(
    'inbound_events_total',
    'Inbound events by what became of them.',
    'connection',
    'outcome',
    'reason',
  )
  const commits = histogram('commit_seconds', 'From looking at an inbound event to its commit.', commitSeconds)
  const claims = counter('claims_total', 'Times a loop asked for work.', 'loop', 'found')
  const claimed = counter('claimed_total', 'Lanes or timers that were taken.', 'loop')
  const turns = counter('turns_total', 'Tries at a turn by what became of them.', 'connection', 'outcome')
  const turnTimes = histogram('turn_seconds', 'From opening a turn to its commit.', turnSeconds)
  const failures = counter('agent_failures_total', 'Tries at a turn that failed, by code.', 'connection', 'code')
  const switches = counter('model_switches_total', 'Times another model of an agent took over.', 'agent', 'reason')
  const callers = counter('callers_refused_total', "Callers that the API and the operator's routes refused.", 'reason')
  const sends = counter('sends_total', 'Tries at a call by what became of them.', 'connection', 'outcome', 'reason')
  const sendTimes = histogram('send_seconds', 'How long vendors took to answer.', sendSeconds)
  const toolCalls = counter('tool_calls_total', 'Tool calls of models by what became of them.', 'tool', 'outcome')
  const toolTimes = histogram('tool_seconds', 'How long tool calls took that ran.', toolSeconds, 'tool')
  const word = createLabelLimiter()
  return {
    received: (connection, outcome, reason) =>
      inboundEvents.inc({ connection, outcome, reason: word('inbound', reason) }),
    committed: (connection, ms) => commits.observe({ connection }, ms / 1000),
    claimed(loop, count) {
      claims.inc({ loop, found: count > 0 ? 'yes' : 'no' })
      if (count > 0) claimed.inc({ loop }, count)
    },
    turnEnded(connection, outcome, ms) {
      turns.inc({ connection, outcome })
      turnTimes.observe({ connection }, ms / 1000)
    },
    agentFailed: (connection, code) => failures.inc({ connection, code: word('code', code) }),
    toolCalled(name, outcome, ms) {
      const tool = word('tool', name)
      toolCalls.inc({ tool, outcome })
      if (outcome === 'succeeded' || outcome === 'failed') toolTimes.observe({ tool }, ms / 1000)
    },
    modelSwitched: (agent, reason) => switches.inc({ agent, reason: word('switch', reason) }),
    callerRefused: (reason) => callers.inc({ reason: word('caller', reason) }),
    sent(connection, outcome, reason, ms) {
      sends.inc({ connection, outcome, reason: word('send', reason) })
      if (ms !== undefined) sendTimes.observe({ connection }, ms / 1000)
    },
    // The library writes a word for not-a-number that only lenient readers take.
    read: async () => (await registry.metrics()).replaceAll(/ Nan$/gm, ' NaN'),
  }
}

function createMetricFactories(registry: Registry) {
  const registers = [registry]
  return {
    counter: (name: string, help: string, ...labelNames: string[]) =>
      new Counter({ name: `parley_${name}`, help, labelNames, registers }),
    histogram: (name: string, help: string, buckets: number[], labelName = 'connection') =>
      new Histogram({ name: `parley_${name}`, help, labelNames: [labelName], buckets, registers }),
  }
}

/** Codes and names of tools are words; anything else, and whatever comes after too many of them, is `other`. */
function createLabelLimiter(): (label: string, text: string) => string {
  const known = new Map<string, Set<string>>()
  return (label, text) => {
    const words = known.get(label) ?? new Set()
    known.set(label, words)
    if (words.has(text) || text === '') return text
    if (words.size >= maxWords || !/^[\w.:/-]{1,80}$/.test(text)) return 'other'
    words.add(text)
    return text
  }
}
