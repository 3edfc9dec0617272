// Which tools are shown, how they may act, what a delegated runtime is told.
import { type ActionRequest, readActionPolicy, resolveActionPolicy } from '../../../src/agents/policy/action-policy.ts'
import {
  resolveVisibleTools,
  runtimeToolPolicy,
  type VisibilityRequest,
} from '../../../src/agents/policy/tool-policy.ts'
import type { Fields } from '../../../src/lib/json-value.ts'
import { declared } from '../../doubles/tool-call.ts'
import type { Case } from '../conform.ts'

const read = declared({ name: 'host/read', category: 'search' })
const write = declared({ name: 'host/write', write: true, categories: ['posts'] })
const publish = declared({ name: 'host/publish', category: 'publishing' })
const must = declared({ name: 'host/must', mandatory: true })
const system = declared({ name: 'host/system', modes: ['system'], category: 'ops' })
const pick = declared({ name: 'client/pick', executor: 'client', scope: 'run', category: 'ui' }, 'client')

const person = { principal: { acting_user_id: 7, auth_source: 'user' } }

function shown(tools: readonly ReturnType<typeof declared>[], request: VisibilityRequest): readonly string[] {
  return [...resolveVisibleTools(new Map(tools.map((tool) => [tool.name, tool])), request).keys()]
}

const widening: readonly Fields[] = [
  { allow_only: ['host/write'] },
  { tool_policy: { runtime_tools: ['host/write', 'client/pick'] } },
  { tool_policy: { runtime_categories: ['posts', 'ui'] } },
  { tool_policy: { mode: 'allow', tools: ['host/write', 'client/pick'] } },
  { tool_policy: { mandatory_tools: ['host/write', 'client/pick'] } },
  { tool_policy: { allow_write_tools: true } },
]

const request = (fields: Partial<ActionRequest>): ActionRequest => ({ toolName: 'host/write', tool: write, ...fields })
const preview = declared({
  name: 'host/write',
  action_policy: 'preview',
  action_policy_chat: 'forbidden',
  category: 'posts',
})
const localities = (runtime: Fields) => {
  const projected = runtimeToolPolicy([declared({ name: 'host/do-it', runtime })], { run: 1, secret: { a: 1 } })
  return projected['tools'] as readonly Fields[]
}

export const policyCases: readonly Case[] = [
  {
    id: 'P-01',
    claim: 'an allow policy keeps its tools and those a provider makes mandatory',
    run: () =>
      shown([read, write, publish], {
        policies: [{ mode: 'allow', tools: ['host/read'] }, { mandatory_tools: ['host/publish'] }],
        context: person,
      }),
    equals: ['host/read', 'host/publish'],
  },
  {
    id: 'P-01',
    claim: 'an empty allow policy keeps the mandatory tools only',
    run: () => shown([read, must], { policies: [{ mode: 'allow' }], context: person }),
    equals: ['host/must'],
  },
  {
    id: 'P-02',
    claim: 'mode and category together leave the system tool',
    run: () => shown([read, system], { context: { ...person, mode: 'system', categories: ['ops'] } }),
    equals: ['host/system'],
  },
  {
    id: 'P-02',
    claim: 'a tool of another mode is hidden in a chat',
    run: () => shown([read, system], { context: person }),
    equals: ['host/read'],
  },
  {
    id: 'P-03',
    claim: 'a denial removes a mandatory tool',
    run: () => shown([read, must], { policies: [{ deny: ['host/must'] }], context: person }),
    equals: ['host/read'],
  },
  {
    id: 'P-03',
    claim: 'an access check and the last look only take away, and one that breaks is a no',
    run: () => [
      shown([read, must], { context: person, isAccessible: (tool) => tool === read }),
      shown([read, must], { context: person, isAccessible: () => JSON.parse('{') }),
      shown([read, must], { context: person, keep: (tool) => tool === read }),
    ],
    equals: [['host/read'], [], ['host/read']],
  },
  ...(
    [
      ['hidden without opt-in', {}, ['host/read']],
      [
        'shown by an allow policy',
        { policies: [{ mode: 'allow', tools: ['host/read', 'client/pick'] }] },
        ['host/read', 'client/pick'],
      ],
      ['shown by allow_only', { policies: [{ allow_only: ['client/pick'] }] }, ['client/pick']],
      ['shown by its category', { policies: [{ runtime_categories: ['ui'] }] }, ['host/read', 'client/pick']],
      [
        'hidden by a denial after that',
        { policies: [{ runtime_categories: ['ui'], deny: ['client/pick'] }] },
        ['host/read'],
      ],
    ] as const
  ).map(([what, given, expected]) => ({
    id: 'P-04',
    claim: `a client tool is ${what}`,
    run: () => shown([read, pick], { context: person, ...given }),
    equals: expected,
  })),
  ...(
    [
      ['system', { principal: { auth_source: 'system', acting_user_id: 7 } }],
      ['an agent token with a user', { principal: { auth_source: 'agent_token', acting_user_id: 7 } }],
      ['user 0', { principal: { auth_source: 'user', acting_user_id: 0 } }],
      ['nobody', {}],
      ['flat fields', { auth_source: 'runtime', acting_user_id: 7 }],
    ] as const
  ).map(([what, context]) => ({
    id: 'P-05',
    claim: `${what} sees no tools that write`,
    run: () => shown([read, write, publish], { context }),
    equals: ['host/read'],
  })),
  ...['user', 'application_password'].map((source) => ({
    id: 'P-06',
    claim: `a ${source} principal sees tools that write in any mode`,
    run: () =>
      shown([read, write], { context: { mode: 'system', principal: { auth_source: source, acting_user_id: 7 } } }),
    equals: ['host/read', 'host/write'],
  })),
  ...(
    [
      ['allow_only', { allow_only: ['host/write'] }],
      ['runtime_tools', { runtime_tools: ['host/write'] }],
      ['runtime_categories', { runtime_categories: ['posts'] }],
      ['an allow policy', { mode: 'allow', tools: ['host/write'] }],
      ['mandatory_tools', { mandatory_tools: ['host/write'] }],
      ['allow_write_tools', { allow_write_tools: true }],
    ] as const
  ).map(([what, policy]) => ({
    id: 'P-07',
    claim: `${what} of our own policy shows a tool that writes again`,
    run: () => shown([write], { policies: [policy] }),
    equals: ['host/write'],
  })),
  ...widening.map((outside) => ({
    id: 'P-07',
    claim: `${JSON.stringify(outside)} from outside shows nothing more`,
    differs: 'in agents-api a caller’s policy can widen',
    run: () => shown([write, pick], { outside }),
    equals: [],
  })),
  {
    id: 'P-07',
    claim: 'outside input may take away',
    run: () => [
      shown([read, must], { context: person, outside: { allow_only: ['host/read', 'client/pick'] } }),
      shown([read, must], { context: person, outside: { tool_policy: { deny: ['host/must'] } } }),
      shown([read, must], { context: person, outside: { tool_policy: { tools: ['host/must'] } } }),
      shown([read, must], { context: person, outside: { tool_policy: { mode: 'allow', categories: ['search'] } } }),
      shown([read, must], { context: person, outside: { categories: ['search'] } }),
    ],
    equals: [['host/read'], ['host/read'], ['host/read'], ['host/read'], ['host/read']],
  },
  {
    id: 'P-08',
    claim: 'values are read in any case, with blanks, and no other word is one',
    run: () => [' Direct ', 'PREVIEW', 'approve', 7].map((value) => readActionPolicy(value)),
    equals: ['direct', 'preview', null, null],
  },
  {
    id: 'P-08',
    claim: 'a fallback counts only if it is valid itself',
    run: () => [readActionPolicy('approve', 'forbidden'), readActionPolicy('approve', 'maybe')],
    equals: ['forbidden', null],
  },
  ...(
    [
      ['a denial forbids', { deny: ['host/write'] }, 'forbidden'],
      ["the agent's word for the tool", { agentActionPolicy: { tools: { 'host/write': 'preview' } } }, 'preview'],
      ["the agent's word for its category", { agentActionPolicy: { categories: { posts: 'preview' } } }, 'preview'],
      ['a provider', { providers: [() => null, () => 'forbidden'] }, 'forbidden'],
      ['a provider that throws forbids', { providers: [() => JSON.parse('{')] }, 'forbidden'],
      ["the tool's own default", { tool: preview }, 'preview'],
      ["the tool's word for the mode", { tool: declared({ action_policy_chat: 'forbidden' }) }, 'forbidden'],
      ['nothing said', {}, 'direct'],
      [
        "the run's policy stands for the agent's",
        { actionPolicy: { tools: {} }, agentActionPolicy: { tools: { 'host/write': 'forbidden' } } },
        'direct',
      ],
    ] as const
  ).map(([what, fields, expected]) => ({
    id: 'P-09',
    claim: `${what}: ${expected}`,
    run: () => resolveActionPolicy(request(fields)),
    equals: expected,
  })),
  {
    id: 'P-10',
    claim: 'an approval before does not let the next call through',
    differs: 'action policies do not remember approvals',
    run: () =>
      resolveActionPolicy(
        request({ tool: preview, outside: { action_policy: { tools: { 'host/write': 'direct' } } } }),
      ),
    equals: 'preview',
  },
  {
    id: 'P-10',
    claim: 'outside input makes it stricter',
    run: () => [
      resolveActionPolicy(request({ outside: { action_policy: { tools: { 'host/write': 'preview' } } } })),
      resolveActionPolicy(request({ tool: preview, outside: { deny: ['host/write'] } })),
    ],
    equals: ['preview', 'forbidden'],
  },
  {
    id: 'P-18',
    claim: 'a runtime is given the tools that are local in both ways',
    run: () =>
      [{ environment: 'runtime_local', capability_scope: 'runtime_local' }, { environment: 'runtime_local' }, {}].map(
        (runtime) => localities(runtime)[0]?.['allowed'],
      ),
    equals: [true, false, false],
  },
  {
    id: 'P-18',
    claim: 'the projection has the fields of its schema',
    run: () => runtimeToolPolicy([declared({ name: 'host/do-it' })], { run: 1, secret: { a: 1 } }),
    equals: {
      schema: 'agents-api/runtime-tool-policy/v1',
      version: 1,
      tools: [
        {
          id: 'host/do-it',
          runtime_tool_id: 'host_do_it',
          allowed: false,
          environment: 'control_plane',
          capability_scope: 'control_plane',
          runtime: { environment: 'control_plane', capability_scope: 'control_plane' },
          execution_location: 'parent',
          transport_visibility: 'parent',
          legacy_fields: ['execution_location', 'transport_visibility'],
          source: 'host',
        },
      ],
      context: { run: 1 },
    },
  },
]
