// The examples as a reader runs them: started with their configuration, talked to over the run API.
import { readdirSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, afterEach, describe, expect, test } from 'vitest'
import { createClient, type RunInput } from '../../../src/client.ts'
import { checkoutRoot } from '../../architecture/source-tree.ts'
import { type ScriptedModelServer, startScriptedModel } from '../../doubles/scripted-model-server.ts'
import { createHome, type Home } from '../cli/parley.ts'

let home: Home | undefined
let model: ScriptedModelServer | undefined
afterEach(async () => {
  await home?.close()
  home = undefined
}, 60_000)
afterAll(() => model?.close())

/** The words of the answer to each message, in one thread. */
async function talk(example: string, env: Record<string, string>, ...said: readonly string[]): Promise<string[]> {
  home = await createHome({ A2A_CHANNEL: 'off', ...env })
  const config = pathToFileURL(join(checkoutRoot, 'examples', example, 'parley.config.ts')).href
  await writeFile(join(home.folder, 'parley.config.mjs'), `export { default } from ${JSON.stringify(config)}\n`)
  const { url } = await home.start()
  const client = createClient({ url })
  const answers: string[] = []
  for (const [index, content] of said.entries()) {
    const input: RunInput = {
      threadId: 't1',
      runId: `r${index}`,
      messages: [{ id: `m${index}`, role: 'user', content }],
    }
    const outcome = await client.run(input)
    answers.push(JSON.stringify(outcome))
  }
  return answers
}

describe('the example', () => {
  test('function-agent answers', async () => {
    const [answer] = await talk('function-agent', {}, 'good morning')
    expect(answer).toMatch(/Hello .+ You said: good morning/)
  }, 120_000)

  test('model-with-tools looks up, asks, and orders after the approval', async () => {
    model = await startScriptedModel()
    model.script(
      { calls: [{ id: 'c1', name: 'shop__price', arguments: '{"article":"tea"}' }] },
      { calls: [{ id: 'c2', name: 'shop__order', arguments: '{"article":"tea","eur":6}' }] },
      { text: 'Your tea is on its way.' },
    )
    const env = { MODEL_URL: model.baseUrl, MODEL: 'scripted' }
    const [asked, done] = await talk('model-with-tools', env, 'one tea, please', '/approve')
    expect(asked).toContain('order tea for 6 EUR')
    expect(done).toContain('Your tea is on its way.')
    expect(JSON.stringify(model.requests.at(-1))).toContain('ordered')
  }, 120_000)

  test('several-agents asks the other agent, and is reached by default', async () => {
    const [greeting, answer] = await talk('several-agents', {}, 'hello', 'is my invoice paid?')
    expect(greeting).toContain('Ask me about your invoice')
    expect(answer).toContain('Billing says: nothing is open')
  }, 120_000)
})

test('every example has its line in the list, and a test that starts it', () => {
  const folders = readdirSync(join(checkoutRoot, 'examples'), { withFileTypes: true }).flatMap((entry) =>
    entry.isDirectory() ? [entry.name] : [],
  )
  // The Worker is started by test/process/runtime, the adapter by the test of the installed package.
  const tested = ['custom-adapter', 'function-agent', 'model-with-tools', 'several-agents', 'worker']
  expect(folders.filter((name) => name !== 'node_modules').sort()).toEqual(tested)
})
