// What an agent is given when there is no gateway around it: steps are run and not journaled, nothing waits, nobody watches.
import type { AgentContext } from '../../src/agents/define-agent.ts'
import type { Envelope } from '../../src/contract/gateway-events.ts'
import { createUnpinnedFetch } from '../../src/lib/index.ts'

export function loneContext(agent: string, transcript: readonly Envelope[] = []): AgentContext {
  const { signal } = new AbortController()
  const nothingWaits = () => Promise.reject(new Error('nothing waits here'))
  return {
    agent,
    principal: 'ada',
    who: { auth_source: 'audience', owner_type: 'audience', owner_key: 'ada' },
    capabilities: { can: () => false },
    evidence: [],
    history: [],
    transcript,
    attachments: { open: async () => undefined, bytes: async () => undefined },
    sessionId: 's1',
    speakerMark: async () => '0123456789abcdef0123',
    members: [],
    client: undefined,
    state: { get: async () => ({}), set: async () => {} },
    reportClientTools: () => {},
    runId: 'r1',
    attempt: 1,
    signal,
    step: (name, work) => work({ key: name, signal, fetch, assertHeld: () => {}, isUnsent: () => false }),
    isFinished: async () => false,
    schedule: () => {},
    send: () => {},
    show: () => {},
    record: () => {},
    stop: signal,
    emit: () => {},
    report: () => {},
    toolCalled: async () => {},
    commandForm: undefined,
    hear: async () => undefined,
    finish: () => {},
    agents: { list: () => [], call: () => Promise.reject(new Error('nobody is there to ask')), cue: undefined },
    remoteCaller: {
      fetch,
      guarded: createUnpinnedFetch(fetch),
      next: async () => ({ ok: true, headers: {}, chain: {} }),
      attest: async () => [],
      cardIn: () => undefined,
    },
    pause: { approval: nothingWaits, toolRequest: nothingWaits, settle: () => {} },
  }
}
