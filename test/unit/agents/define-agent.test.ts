// What defineAgent refuses: told at the start, with what to change.
import { expect, test } from 'vitest'
import { defineAgent, type ModelAgentDefinition } from '../../../src/agents/define-agent.ts'
import type { McpServerConfig } from '../../../src/agents/mcp/mcp-server.ts'

const base = { slug: 'demo', model: async () => ({ content: '' }) }
/** Configurations are often written without types. */
const define = (changes: object) => defineAgent({ ...base, ...changes } as ModelAgentDefinition)

const known = [
  'slug',
  'label',
  'description',
  'help',
  'starters',
  'busy',
  'receipts',
  'access',
  'provenance',
  'skills',
  'agentCalls',
  'instructions',
  'model',
  'temperature',
  'maxOutputTokens',
  'modelTimeoutMs',
  'modelRetries',
  'files',
  'tools',
  'mcpServers',
  'sharedState',
  'toolPolicy',
  'actionPolicy',
  'budgets',
  'maxTurns',
  'completionPolicy',
  'shouldContinue',
  'preToolMediator',
  'toolCallRules',
  'history',
  'compaction',
  'output',
  'onEvent',
].join(', ')

test.each([
  [{ instruction: 'x' }, `[agent] "demo": unknown key "instruction"; known are ${known}`],
  [{ slug: 'Demo' }, 'slug must be lower-case letters, digits and dashes'],
  [{ slug: undefined }, 'slug'],
  [{ model: undefined }, 'needs run (a function) or model'],
  [{ run: () => '' }, 'either run (a function) or model, not both'],
  [{ busy: 'later' }, 'busy must be one of queue, steer, interrupt'],
  [{ access: { mode: 'open', allow: [] } }, 'access.mode must be one of public, allow_list, pairing, closed'],
  [{ access: { mode: 'allow_list', allow: 'a:b' } }, 'access.allow must be a list of subjects'],
  [{ access: { mode: 'pairing', rules: [{ effect: 'allow' }] } }, 'access.rules.0 needs a condition'],
  [{ provenance: { from: 'x' } }, 'provenance'],
  [{ tools: [{ name: 'a/b' }] }, 'tools must be made with defineTool'],
  [{ maxTurns: 0 }, 'maxTurns must be a whole number'],
  [{ budgets: [{ name: 'turns' }] }, 'budgets must each have a name and a ceiling'],
  [{ onEvent: 'log' }, 'onEvent must be a function'],
  [{ output: 'json' }, 'output must be a zod schema or a JSON Schema'],
])('%j', (changes, problem) => {
  expect(() => define(changes)).toThrow(expect.objectContaining({ code: 'config_invalid' }))
  expect(() => define(changes)).toThrow(problem)
})

test('a function takes no keys of a model', () => {
  const agent = { slug: 'demo', run: () => '', maxTurns: 3 }
  expect(() => defineAgent(agent)).toThrow('unknown key "maxTurns"; known are slug, label')
})

test.each<[object, string]>([
  [{ name: 'files' }, 'mcpServers.0 needs either command (a program) or url (a server)'],
  [{ name: 'files', command: 'x', url: 'https://x' }, 'mcpServers.0 needs either command'],
  [{ name: 'Files', command: 'x' }, 'mcpServers.0.name must be a short lower-case word'],
  [{ name: 'client', command: 'x' }, 'mcpServers.0.name is kept for the tools of clients'],
  [{ name: 'web', url: 'http://example.com/mcp' }, 'mcpServers.0.url must be https, or http on this machine'],
  [{ name: 'web', url: 'http://127.0.0.1.example.com/' }, 'must be https'],
  [{ name: 'web', url: 'https://user:secret@example.com/' }, 'must be https'],
  [{ name: 'web', url: 'file:///etc/passwd' }, 'must be https'],
  [{ name: 'files', command: 'x', environment: {} }, 'Unrecognized key'],
  [{ name: 'files', command: 'x', env: { A: 1 } }, 'mcpServers.0.env'],
])('the MCP server %j', (server, problem) => {
  expect(() => define({ mcpServers: [server] })).toThrow(problem)
})

test('two MCP servers of one name are refused, and no value of theirs is shown', () => {
  const server: McpServerConfig = { name: 'a', command: 'x', env: { KEY: 'canary' }, args: ['canary'] }
  const refusal = () => define({ mcpServers: [server, server] })
  expect(refusal).toThrow('two MCP servers are called "a"')
  expect(refusal).not.toThrow('canary')
  const web = { name: 'web', url: 'http://localhost:1/', headers: { authorization: 'canary' } }
  expect(JSON.stringify(define({ mcpServers: [web] }))).not.toContain('canary')
})
