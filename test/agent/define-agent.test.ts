// What defineAgent refuses: told at the start, with what to change.
import { expect, test } from 'vitest'
import { defineAgent, type ModelAgentDefinition } from '../../src/agent/agent.ts'

const base = { slug: 'demo', model: async () => ({ content: '' }) }
/** Configurations are often written without types. */
const define = (changes: object) => defineAgent({ ...base, ...changes } as ModelAgentDefinition)

const known = [
  ...['slug', 'label', 'description', 'help', 'busy', 'access', 'provenance'],
  ...['instructions', 'model', 'temperature', 'maxOutputTokens', 'modelTimeoutMs', 'modelRetries'],
  ...['tools', 'toolPolicy', 'actionPolicy', 'budgets', 'maxTurns', 'completionPolicy', 'shouldContinue'],
  ...['preToolMediator', 'toolCallRules', 'history', 'compaction', 'onEvent'],
].join(', ')

test.each([
  [{ instruction: 'x' }, `[agent] "demo": unknown key "instruction"; known are ${known}`],
  [{ slug: 'Demo' }, 'slug must be lower-case letters, digits and dashes'],
  [{ slug: undefined }, 'slug'],
  [{ model: undefined }, 'needs run (a function) or model'],
  [{ run: () => '' }, 'either run (a function) or model, not both'],
  [{ busy: 'later' }, 'busy must be one of queue, steer, interrupt'],
  [{ access: { mode: 'open', allow: [] } }, 'access.mode must be one of public, allow_list, pairing, closed'],
  [{ access: { mode: 'public' } }, 'access.allow must be a list'],
  [{ provenance: { from: 'x' } }, 'provenance'],
  [{ tools: [{ name: 'a/b' }] }, 'tools must be made with defineTool'],
  [{ maxTurns: 0 }, 'maxTurns must be a whole number'],
  [{ budgets: [{ name: 'turns' }] }, 'budgets must each have a name and a ceiling'],
  [{ onEvent: 'log' }, 'onEvent must be a function'],
])('%j', (changes, problem) => {
  expect(() => define(changes)).toThrow(expect.objectContaining({ code: 'config_invalid' }))
  expect(() => define(changes)).toThrow(problem)
})

test('a function takes no keys of a model', () => {
  const agent = { slug: 'demo', run: () => '', maxTurns: 3 }
  expect(() => defineAgent(agent)).toThrow('unknown key "maxTurns"; known are slug, label')
})
