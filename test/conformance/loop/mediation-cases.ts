// Tool calls inside a run, from what the model asked to what is kept of it.
import { readPendingAction, toApprovalEnvelope } from '../../../src/agents/approvals/pending-action.ts'
import { runtimeToolPending } from '../../../src/agents/tools/tool.ts'
import { createResultTruncator } from '../../../src/agents/tools/tool-result.ts'
import type { ToolRunnerDeps } from '../../../src/agents/tools/tool-runner.ts'
import { asFields } from '../../../src/lib/index.ts'
import type { Fields } from '../../../src/lib/json-value.ts'
import { call, calling, deskOf, type Looped, looped, saying, told } from '../../doubles/scripted-loop.ts'
import type { Case } from '../conform.ts'

const throwing = () => {
  throw new Error('canary exploded')
}
const done = saying('done')
const act = call('host/act')
const names = ({ events }: Looped) => events.map(([name]) => name)
const errorTypes = ({ result }: Looped) =>
  result.tool_execution_results.map((entry) => asFields(entry.result['metadata'])['error_type'])

/** Stages what it is asked to and remembers it. */
function approvals(): Pick<ToolRunnerDeps, 'stageApproval'> & { readonly staged: string[] } {
  const staged: string[] = []
  return {
    staged,
    async stageApproval({ id, tool_name, prepared }) {
      staged.push(id)
      const action = readPendingAction({
        action_id: `a-${id}`,
        kind: tool_name,
        summary: 'May I?',
        preview: null,
        apply_input: prepared.parameters,
        created_at: '2026-01-01T00:00:00Z',
      })
      return { envelope: toApprovalEnvelope(action), actionId: action.action_id }
    },
  }
}

/** What a call under this policy comes to, and how often it ran and was staged. */
async function gated(actionOf: NonNullable<ToolRunnerDeps['actionOf']>, deps: Partial<ToolRunnerDeps> = {}) {
  let ran = 0
  const asking = approvals()
  const tools = deskOf({ 'host/act': () => ++ran }, { ...asking, ...deps, actionOf })
  const { result } = await looped([calling(act), done], { tools, maxTurns: 3 })
  const entry = result.tool_execution_results[0]
  return { ran, staged: asking.staged.length, status: result.status, result: entry?.result['result'] }
}

export const mediationCases: readonly Case[] = [
  {
    id: 'L-21',
    claim: 'the executor gets the secret; nothing else that comes of the run holds it',
    run: async () => {
      const got: Fields[] = []
      const tools = deskOf({ 'host/act': (parameters) => void got.push(parameters) })
      const run = await looped([calling(call('host/act', { api_key: 'canary', q: 1 })), done], { tools, maxTurns: 3 })
      const { messages, tool_audit_events: audits, tool_execution_results: executed } = run.result
      return {
        got,
        leaks: JSON.stringify([run.result, run.events]).includes('canary'),
        shown: [messages[1]?.payload['parameters'], executed[0]?.parameters, told(run, 'tool_call')[0]?.['parameters']],
        hashes: new Set([
          messages[1]?.metadata['parameters_sha256'],
          executed[0]?.parameters_sha256,
          audits[0]?.parameters_sha256,
        ]).size,
      }
    },
    equals: {
      got: [{ api_key: 'canary', q: 1 }],
      leaks: false,
      shown: Array.from({ length: 3 }, () => ({ api_key: '[redacted]', q: 1 })),
      hashes: 1,
    },
  },
  {
    id: 'L-21b',
    claim: 'the model itself reads its own arguments as it wrote them',
    differs: 'agents-api replays redacted arguments to the model',
    run: async () => {
      const tools = deskOf({ 'host/act': () => 1 })
      const script = [calling(call('host/act', { api_key: 'canary' })), done]
      const { requests } = await looped(script, { tools, maxTurns: 3 })
      return requests[1]?.messages[1]?.payload['parameters']
    },
    equals: { api_key: 'canary' },
  },
  {
    id: 'L-22',
    claim: 'calls without an id are numbered by turn and place',
    run: async () => {
      const tools = deskOf({ 'host/act': () => 1 })
      const { result } = await looped([calling(act), calling(act), done], { tools, maxTurns: 3 })
      return result.tool_observability.calls.map(({ sequence, tool_call_id }) => [sequence, tool_call_id])
    },
    equals: [
      [1, 'tool-call-1-1'],
      [2, 'tool-call-2-1'],
    ],
  },
  {
    id: 'L-23',
    claim: 'a mediator answers the first try in the place of the tool and lets the second one through',
    run: async () => {
      const got: Fields[] = []
      const tools = deskOf(
        { 'host/act': (parameters) => void got.push(parameters) },
        {
          mediators: [
            ({ parameters }) =>
              parameters['revised'] === true
                ? { action: 'proceed' }
                : { action: 'replace_result', result: { success: false, error: 'Revise it first.' } },
          ],
        },
      )
      const script = [calling(act), calling(call('host/act', { revised: true })), done]
      const run = await looped(script, { tools, maxTurns: 5 })
      return { got, turns: run.requests.length, names: names(run) }
    },
    equals: {
      got: [{ revised: true }],
      turns: 3,
      names: [
        'turn_started',
        'tool_call',
        'tool_result',
        'turn_started',
        'tool_call',
        'tool_result',
        'turn_started',
        'completed',
      ],
    },
  },
  {
    id: 'L-24',
    claim: 'a call the mediator rejects does not run, and everybody is told why',
    run: async () => {
      const tools = deskOf(
        { 'host/act': throwing },
        { mediators: [() => ({ action: 'reject', error: 'Not now.', metadata: { error_type: 'quiet_hours' } })] },
      )
      const run = await looped([calling(act), done], { tools, maxTurns: 3 })
      const { result } = run
      return {
        error: result.tool_execution_results[0]?.result['error'],
        types: errorTypes(run),
        audit: result.tool_audit_events[0]?.error_type,
        observed: result.tool_observability.calls[0]?.status,
        completed: result.completed,
      }
    },
    equals: {
      error: 'Not now.',
      types: ['quiet_hours'],
      audit: 'quiet_hours',
      observed: 'rejected',
      completed: true,
    },
  },
  {
    id: 'L-25',
    claim: 'what is missing, unknown or broken is a typed result, and the run goes on',
    run: async () => {
      const tools = deskOf(
        { 'host/act': throwing, 'host/need': () => 1 },
        { declarations: { 'host/need': { parameters: { required: ['x'], properties: { x: {} } } } } },
      )
      const run = await looped([calling(call('host/need'), call('host/none'), act), done], { tools, maxTurns: 3 })
      const isQuiet = !JSON.stringify(run.result).includes('canary')
      return { types: errorTypes(run), said: run.result.final_content, completed: run.result.completed, isQuiet }
    },
    equals: {
      types: ['missing_required_parameters', 'tool_not_found', 'executor_exception'],
      said: 'done',
      completed: true,
      isQuiet: true,
    },
  },
  {
    id: 'L-26',
    claim: 'a turn of text alone ends the run, and its text is kept',
    differs: 'agents-api drops text without calls and reads calls out of text',
    run: async () => {
      const tools = deskOf({ 'host/act': () => 1 })
      const { result, requests } = await looped([calling(act), { content: 'done' }], { tools, maxTurns: 8 })
      return { turns: requests.length, said: result.final_content, last: result.messages.at(-1)?.content }
    },
    equals: { turns: 2, said: 'done', last: 'done' },
  },
  {
    id: 'L-26b',
    claim: 'text that is written like a call stays text',
    differs: 'agents-api drops text without calls and reads calls out of text',
    run: async () => {
      const tools = deskOf({ 'host/act': throwing })
      const script = [{ content: '<tool_call>{"name":"host/act","arguments":{}}</tool_call>' }]
      const { result } = await looped(script, { tools, maxTurns: 8 })
      return [result.tool_events.length, result.messages.length]
    },
    equals: [0, 2],
  },
  {
    id: 'L-27',
    claim: 'a model that returns no transcript does not lose the one there is',
    run: async () => {
      const tools = deskOf({ 'host/act': () => 1 })
      const { result } = await looped([calling(act), done], { tools, maxTurns: 3 })
      return result.messages.map(({ type, role }) => `${role} ${type}`)
    },
    equals: ['user text', 'assistant tool_call', 'user tool_result', 'assistant text'],
  },
  {
    id: 'L-28',
    claim: 'a run whose last turn only calls says nothing',
    run: async () => {
      const tools = deskOf({ 'host/act': () => 1 })
      const input = [
        { role: 'user', content: 'hi' },
        { role: 'assistant', content: 'an old answer' },
        { role: 'user', content: 'again' },
      ]
      const script = [{ content: 'let me look', tool_calls: [act] }, calling(act)]
      const { result } = await looped(script, { tools, input, maxTurns: 2 })
      return result.final_content
    },
    equals: '',
  },
  {
    id: 'L-29',
    claim: 'a tool the other side runs pauses the run; its request is told without its secrets',
    differs: 'agents-api keeps a placeholder that holds raw parameters',
    run: async () => {
      const tools = deskOf(
        { 'host/act': () => runtimeToolPending() },
        {
          stagePending: async ({ id, redacted }) => ({ request_id: `q-${id}`, tool_call_id: id, parameters: redacted }),
        },
      )
      const script = [calling(call('host/act', { api_key: 'canary' }, 'c1'), act)]
      const { result } = await looped(script, { tools, maxTurns: 3 })
      return {
        status: result.status,
        request: result.runtime_tool_pending,
        events: result.tool_events.map(({ type }) => type),
        observed: result.tool_observability.calls.map(({ status }) => status),
        // No placeholder: the result itself comes when the run goes on.
        lines: result.messages.map(({ type }) => type),
        leaks: JSON.stringify(result).includes('canary'),
      }
    },
    equals: {
      status: 'runtime_tool_pending',
      request: { request_id: 'q-c1', tool_call_id: 'c1', parameters: { api_key: '[redacted]' } },
      events: ['tool_call', 'runtime_tool_pending'],
      observed: ['pending'],
      lines: ['text', 'tool_call'],
      leaks: false,
    },
  },
  {
    id: 'L-35',
    claim: 'a long result is cut in transcript and result; only those who watch see all of it',
    run: async () => {
      const truncate = createResultTruncator({ maxBytes: 80 })
      const tools = deskOf({ 'host/act': () => ({ body: 'z'.repeat(200) }) }, { truncate })
      const run = await looped([calling(act), done], { tools, maxTurns: 3 })
      const whole = 'z'.repeat(200)
      return {
        watched: JSON.stringify(told(run, 'tool_result_truncated')[0]?.['original_result']).includes(whole),
        kept: JSON.stringify(run.result).includes(whole),
        recorded: run.result.events.map(({ type }) => type),
      }
    },
    equals: { watched: true, kept: false, recorded: ['tool_result_truncated'] },
  },
  {
    id: 'P-14',
    claim: 'without a decision the call runs and nobody is asked',
    run: () => gated(() => 'direct'),
    equals: { ran: 1, staged: 0, status: undefined, result: 1 },
  },
  {
    id: 'P-14',
    claim: 'a call that needs approval is staged once and does not run',
    run: () => gated(() => 'preview'),
    equals: { ran: 0, staged: 1, status: 'approval_required', result: undefined },
  },
  {
    id: 'P-14',
    claim: 'what a mediator decided before stands, and nobody is asked',
    run: () =>
      gated(() => 'preview', {
        mediators: [() => ({ action: 'replace_result', result: { success: true, result: 'cached' } })],
      }),
    equals: { ran: 0, staged: 0, status: undefined, result: 'cached' },
  },
  {
    id: 'P-15',
    claim: 'a run with a gated call pauses with the action it waits for, paired with its call',
    differs: 'agents-api leaves the call unpaired and cannot go on',
    run: async () => {
      const tools = deskOf({ 'host/act': throwing }, { ...approvals(), actionOf: () => 'preview' })
      const run = await looped([calling(call('host/act', { api_key: 'canary' }, 'c1'), act)], { tools, maxTurns: 3 })
      const { status, completed, approval_required: envelope, messages } = run.result
      return {
        status,
        completed,
        action: asFields(envelope?.['payload'])['action_id'],
        pairedWith: asFields(envelope?.['metadata'])['tool_call_id'],
        told: told(run, 'approval_required'),
        lines: messages.map(({ type }) => type),
        leaks: JSON.stringify([run.result, run.events]).includes('canary'),
      }
    },
    equals: {
      status: 'approval_required',
      completed: false,
      action: 'a-c1',
      pairedWith: 'c1',
      told: [{ turn: 1, tool_name: 'host/act', tool_call_id: 'c1', action_id: 'a-c1' }],
      lines: ['text', 'tool_call', 'approval_required'],
      leaks: false,
    },
  },
]
