// Execution, capability, sources, tiers, citations, mediation.
import { collectToolCatalog, createToolCatalog, splitToolsByTier } from '../../../src/agents/tools/catalog.ts'
import { type MediatorContext, mediateToolCall, type PreToolMediator } from '../../../src/agents/tools/mediate.ts'
import { normalizeCitations, normalizeToolResult } from '../../../src/agents/tools/tool-result.ts'
import { bindAndValidateCall } from '../../../src/agents/tools/tool-runner.ts'
import type { Fields } from '../../../src/lib/json-value.ts'
import { declared, ran } from '../../doubles/tool-call.ts'
import type { Case } from '../conform.ts'

const local = declared({ runtime: { executor_target: 'sandbox' } })
const guarded = declared({ required_capability: 'publish' })

/** Who ran it, and how it ended. */
async function byTarget(targets: ReadonlyMap<string, () => unknown>): Promise<unknown> {
  const result = await ran(local, () => 'default', { deps: { executors: { default: () => 'default', targets } } })
  return result.result ?? result.metadata['error_type']
}

type Denial = { readonly ran: number; readonly events: number; readonly reason: unknown; readonly leaks: boolean }

async function withCapability(principal: Fields | undefined, may: () => boolean): Promise<Denial> {
  const events: unknown[] = []
  let runs = 0
  const capabilities = { can: may }
  const result = await ran(guarded, () => `ran ${++runs}`, {
    deps: { capabilities, onDenied: (event) => events.push(event) },
    context: { context: { principal } },
    parameters: { token: 's3cret' },
  })
  const { denial } = result.metadata as { denial?: { reason: string } }
  return {
    ran: runs,
    events: events.length,
    reason: denial?.reason,
    leaks: JSON.stringify([events, result]).includes('s3cret'),
  }
}

async function mediated(mediator: unknown, complete = false): Promise<unknown> {
  const context: MediatorContext = {
    messages: [],
    raw_tool_call: { name: 'demo/act', parameters: {} },
    prepared_tool_call: null,
    tool_declaration: null,
    tool_name: 'demo/act',
    parameters: {},
    tool_call_id: 'c1',
    turn_context: {},
    turn: 1,
    prior_tool_results: [],
    prior_mediated_results: [],
  }
  // Configuration is JavaScript as well: what a mediator returns is not to be trusted to its type.
  const asked = mediator as PreToolMediator
  const bounds = { signal: new AbortController().signal, timeoutMs: 50 }
  const decision = await mediateToolCall([asked], context, bounds)
  if (decision.action === 'proceed') return 'proceed'
  const { success, error, metadata } = decision.result
  const ended = { action: decision.action, success, error_type: metadata['error_type'] }
  return complete ? { ...ended, complete: decision.complete, error } : ended
}

const throwing = () => {
  throw new Error('policy engine down')
}
const notRun = (errorType: string) => ({ action: 'reject', success: false, error_type: errorType })

export const executionCases: readonly Case[] = [
  {
    id: 'T-16',
    claim: "an executor's runtime hints are merged over the declared ones",
    run: async () =>
      (
        await ran(declared({ runtime: { completion_signal: 'progress', environment: 'control_plane' } }), () => ({
          success: true,
          result: 1,
          runtime: { completion_signal: 'complete' },
        }))
      ).runtime,
    equals: { completion_signal: 'complete', environment: 'control_plane' },
  },
  {
    id: 'T-17',
    claim: "a provider's spelling runs the tool under its canonical name",
    differs: 'agents-api keeps the provider’s spelling',
    run: () => {
      const catalog = createToolCatalog([declared({ name: 'host/search', provider_aliases: ['find'] })])
      const called = ['host__search', 'find', 'host/search', 'host_search']
      return called.map(
        (name) => bindAndValidateCall(catalog, { name, parameters: {} }, { turn: 2, ordinal: 1, context: {} }).call,
      )
    },
    equals: [
      ...['host__search', 'find', 'host/search'].map((name) => ({
        tool_name: 'host/search',
        parameters: {},
        id: 'tool-call-2-1',
        metadata: { source: 'host', provider_tool_name: name, tool_call_id: 'tool-call-2-1' },
      })),
      undefined,
    ],
  },
  {
    id: 'T-18',
    claim: 'a named executor handles the call',
    run: () => byTarget(new Map([['sandbox', () => 'sandbox']])),
    equals: 'sandbox',
  },
  {
    id: 'T-18',
    claim: 'an unknown executor fails closed',
    run: () => byTarget(new Map([['other', () => 'other']])),
    equals: 'executor_target_unavailable',
  },
  {
    id: 'T-19',
    claim: 'a top-level error type is promoted',
    run: () => normalizeToolResult(declared(), { success: false, error_type: 'busy', error: 'x' }).metadata,
    equals: { error_type: 'busy' },
  },
  {
    id: 'T-19',
    claim: "the metadata's own error type wins",
    run: () =>
      normalizeToolResult(declared(), { success: false, error_type: 'a', metadata: { error_type: 'b' } }).metadata,
    equals: { error_type: 'b' },
  },
  {
    id: 'T-19',
    claim: 'a success gets no error type',
    run: () => normalizeToolResult(declared(), { success: true, error_type: 'a', result: 1 }),
    equals: { success: true, tool_name: 'demo/act', metadata: {}, result: 1 },
  },
  {
    id: 'T-20',
    claim: 'a permitted principal runs the tool once',
    run: () => withCapability({ acting_user_id: 7 }, () => true),
    equals: { ran: 1, events: 0, reason: undefined, leaks: false },
  },
  {
    id: 'T-20',
    claim: 'a principal who may not is denied with one event',
    run: () => withCapability({ acting_user_id: 7 }, () => false),
    equals: { ran: 0, events: 1, reason: 'capability_not_permitted', leaks: false },
  },
  {
    id: 'T-20',
    claim: 'nobody is denied with one event',
    run: () => withCapability(undefined, () => true),
    equals: { ran: 0, events: 1, reason: 'principal_unavailable', leaks: false },
  },
  {
    id: 'T-20',
    claim: 'a policy that breaks denies',
    run: () => withCapability({ acting_user_id: 7 }, throwing),
    equals: { ran: 0, events: 1, reason: 'capability_not_permitted', leaks: false },
  },
  {
    id: 'T-21',
    claim: 'a tool without a capability needs no principal',
    run: async () => (await ran(declared(), () => 'done')).result,
    equals: 'done',
  },
  {
    id: 'T-22',
    claim: 'the source with the better priority has the name',
    differs: 'what is hidden is reported, not dropped in silence',
    run: async () => {
      const sources = [
        { slug: 'late', declare: () => ({ 'host/search': {} }) },
        { slug: 'early', priority: 1, declare: () => [{ name: 'host/search' }] },
        { slug: 'broken', declare: throwing },
      ]
      const { tools, rejected } = await collectToolCatalog(sources, {})
      const found = [...tools.values()].map(({ name, source, description }) => ({ name, source, description }))
      return { found, rejected: rejected.map((each) => each.name) }
    },
    equals: {
      found: [{ name: 'host/search', source: 'early', description: 'host/search' }],
      rejected: ['broken', 'host/search'],
    },
  },
  {
    id: 'T-23',
    claim: 'the first tier holds the curated and the mandatory tools, the rest is a manifest',
    run: () => {
      const tools = [
        declared({ name: 'a/one', description: 'One.\nMore.', parameters: { required: ['x'] } }),
        declared({ name: 'a/two', mandatory: true }),
        declared({ name: 'a/three' }),
      ]
      const tiers = splitToolsByTier(new Map(tools.map((tool) => [tool.name, tool])), { curated: ['a/three'], cap: 2 })
      return { tier_1: tiers.tier_1.map((tool) => tool.name), manifest: tiers.manifest }
    },
    equals: {
      tier_1: ['a/two', 'a/three'],
      manifest: [{ name: 'a/one', summary: 'One.', required_fields: ['x'] }],
    },
  },
  {
    id: 'T-24',
    claim: 'a citation has a numeric score and keeps its other fields',
    run: () =>
      normalizeCitations([
        {
          source: ' wiki ',
          score: '0.87',
          page: 3,
          excerpt: ' ',
          access_status: 'partial',
          restriction_reason: 'audience',
        },
        { principal: { acting_user_id: 7, token_id: 9, owner_key: 'k' }, access_status: 'maybe', api_key: 'k' },
        'no map',
        {},
      ]),
    equals: [
      { source: 'wiki', score: 0.87, page: 3, access_status: 'partial', restriction_reason: 'audience' },
      {
        principal: {
          schema_version: 1,
          acting_user_id: 7,
          has_conversation_owner: true,
          has_capability_ceiling: false,
          has_caller_context: false,
        },
        api_key: '[redacted]',
      },
    ],
  },
  {
    id: 'T-25',
    claim: 'a mediator that throws is a no',
    differs: 'the mediator of agents-api fails open',
    run: () => mediated(throwing),
    equals: notRun('pre_tool_mediation_failed'),
  },
  {
    id: 'T-25',
    claim: 'a mediator that never answers is a no',
    differs: 'the mediator of agents-api fails open',
    run: () => mediated(() => new Promise(() => {})),
    equals: notRun('pre_tool_mediation_failed'),
  },
  ...[undefined, null, 'proceed', {}, { action: 'PROCEED' }, { action: 'replace_result' }].map((decision) => ({
    id: 'T-25',
    claim: `${JSON.stringify(decision)} from a mediator is a no`,
    differs: 'the mediator of agents-api fails open',
    run: () => mediated(() => decision),
    equals: notRun('pre_tool_mediation_invalid'),
  })),
  {
    id: 'T-25',
    claim: 'a plain proceed proceeds',
    run: () => mediated(() => ({ action: 'proceed' })),
    equals: 'proceed',
  },
  {
    id: 'T-25',
    claim: 'a rejection is a failure, whatever result comes with it',
    run: () => mediated(() => ({ action: 'reject', result: { success: true, result: 1 } })),
    equals: notRun('pre_tool_mediation_rejected'),
  },
  {
    id: 'T-25',
    claim: 'a mediator can answer in place of the tool, or have somebody else run it',
    run: () =>
      Promise.all([
        mediated(() => ({ action: 'replace_result', result: { success: true, result: 1 } })),
        mediated(() => ({ action: 'pending', request: { request_id: 'r1' } })),
      ]),
    equals: [
      { action: 'replace_result', success: true, error_type: undefined },
      { action: 'pending', success: false, error_type: undefined },
    ],
  },
  {
    id: 'T-25',
    claim: 'a rejection keeps its reason and can end the run',
    run: () =>
      mediated(() => ({ action: 'reject', error: 'no', metadata: { error_type: 'duplicate' }, complete: true }), true),
    equals: { action: 'reject', success: false, error_type: 'duplicate', complete: true, error: 'no' },
  },
]
