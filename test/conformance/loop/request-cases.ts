// What a run is asked to do.
import { conversationRequest } from '../../../src/agents/loop/request.ts'
import { type Case, refusal } from '../conform.ts'

const messages = [{ role: 'user', content: 'hi' }]
const clientTool = { name: 'client/pick', executor: 'client' }
const hostTool = { name: 'host/search', description: 'Finds.', executor: 'somewhere' }
const cyclic: Record<string, unknown> = {}
cyclic['self'] = cyclic

export const requestCases: readonly Case[] = [
  {
    id: 'R-01',
    claim: 'a request takes one turn at least and ten when it does not say',
    run: () =>
      [{ max_turns: 0 }, { max_turns: -3 }, { max_turns: 4 }, {}].map(
        (wish) => conversationRequest({ messages, ...wish }).max_turns,
      ),
    equals: [1, 1, 4, 10],
  },
  {
    id: 'R-01',
    claim: 'a request of messages alone is completed with every default, in the order of the wire',
    run: () => Object.entries(conversationRequest({ messages })),
    expected: [
      ['messages', [{ type: 'text', content: 'hi' }]],
      ['tools', []],
      ['principal', null],
      ['runtime_context', {}],
      ['metadata', {}],
      ['max_turns', 10],
      ['single_turn', false],
      ['workspace', null],
      ['runtime_overrides', { system_prompt: null, max_iterations: null, tier_1_tools: [] }],
    ],
  },
  {
    id: 'R-02',
    claim: 'client and host tools are both kept, each with who runs it',
    run: () =>
      conversationRequest({ messages, tools: [clientTool, hostTool] }).tools.map(({ name, executor }) => [
        name,
        executor,
      ]),
    equals: [
      ['client/pick', 'client'],
      ['host/search', 'host'],
    ],
  },
  {
    id: 'R-03',
    claim: 'what a request overrides stands in its runtime context; what it leaves blank does not',
    run: () =>
      conversationRequest({
        messages,
        runtime_context: { provider_id: 'ours', model_id: 'kept', site: 7 },
        runtime_overrides: {
          provider_id: ' acme ',
          model_id: '  ',
          temperature: 0,
          tier_1_tools: ['host/a', 'host/a', 7],
          max_iterations: -1,
        },
      }).runtime_context,
    equals: { provider_id: 'acme', model_id: 'kept', site: 7, temperature: 0, tier_1_tools: ['host/a'] },
  },
  {
    id: 'R-03',
    claim: 'max_iterations lowers the turns and never raises them',
    run: () =>
      [2, 50].map((max_iterations) => {
        const request = conversationRequest({ messages, max_turns: 10, runtime_overrides: { max_iterations } })
        return request.max_turns
      }),
    equals: [2, 10],
  },
  {
    id: 'R-04',
    claim: 'a text among the tools is refused with its place',
    run: () => refusal(() => conversationRequest({ messages, tools: [hostTool, 'host/search'] })),
    equals:
      'invalid_agent_conversation_request: tools[1] invalid_conversation_tool_declaration: declaration must be an object',
  },
  ...(['runtime_context', 'metadata'] as const).map((key) => ({
    id: 'R-04',
    claim: `${key} that is no JSON is refused`,
    run: () => refusal(() => conversationRequest({ messages, [key]: cyclic })),
    equals: `invalid_agent_conversation_request: ${key} must be JSON serializable`,
  })),
]
