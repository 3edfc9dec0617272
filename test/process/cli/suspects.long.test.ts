// Turns whose process was killed, with the program that people start: they go on in a process of their own, which reads the same
// configuration, shares the gateway's database, stops with the gateway and does not outlive it.
import { existsSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { afterEach, expect, test, vi } from 'vitest'
import { createHome, type Home, type Running, until } from './parley.ts'

vi.setConfig({ testTimeout: 120_000 })

const library = pathToFileURL(fileURLToPath(new URL('../../../dist/index.js', import.meta.url))).href

/** Kills its first process. After that it says where it runs, and waits there until there is a file `go`. */
const config = (home: Home): string => `
import { existsSync, writeFileSync } from 'node:fs'
import { defineAgent, defineConfig, telegram, textOf } from ${JSON.stringify(library)}
const demo = defineAgent({
  slug: 'demo',
  async run(message, { step }) {
    const text = textOf(message.parts)
    if (!text.startsWith('wait')) return 'saw ' + text
    const effect = await step('order', async () => Date.now(), { idempotent: true })
    if (!existsSync('killed')) {
      writeFileSync('killed', '')
      process.kill(process.pid, 'SIGKILL')
      await new Promise(() => {})
    }
    writeFileSync('waiting', String(process.pid))
    while (!existsSync('go')) {
      if (text === 'wait busily') continue
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    return 'ordered in ' + (process.argv[2] ?? '')
  },
})
export default defineConfig({
  agents: [demo],
  turns: { leaseMs: 30_000 },
  connections: [telegram({ botToken: ${JSON.stringify(home.telegram.token)}, webhookSecret: 'webhook-secret-of-the-command-line-tests',
    apiRoot: ${JSON.stringify(home.telegram.apiRoot)}, access: { mode: 'allow_list', allow: ['telegram:42'] } })],
})
`

let home: Home
afterEach(() => home.close())

const file = (name: string): string => join(home.folder, name)
const texts = (): readonly string[] => home.telegram.sent.map(({ text }) => text)
const crashes = async (): Promise<number> => {
  const { stdout } = await home.parley(['explain', '1'])
  return stdout.split('\n').filter((line) => / Died /.test(line)).length
}
const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

/** A gateway that was killed by its message, and started again: the process that runs the message now. */
async function comeToWait(text = 'wait'): Promise<{ gateway: Running; child: number }> {
  home = await createHome({}, 'embedded')
  await writeFile(file('parley.config.mjs'), config(home))
  const first = await home.start()
  await first.say(text).catch(() => {})
  await until(60_000, () => (existsSync(file('killed')) ? true : undefined))
  await first.kill()
  const gateway = await home.start()
  await until(90_000, () => (existsSync(file('waiting')) ? true : undefined))
  return { gateway, child: Number(await readFile(file('waiting'), 'utf8')) }
}

const ask = async ({ url }: Running, content: string): Promise<string> => {
  const body = JSON.stringify({ threadId: 't1', runId: content, messages: [{ id: content, role: 'user', content }] })
  const headers = { 'content-type': 'application/json' }
  return (await fetch(`${url}/api/v1/agent/run`, { method: 'POST', headers, body })).text()
}

test('a turn that killed the gateway goes on beside it, on its embedded database, and the gateway with everything else', async () => {
  const { gateway, child } = await comeToWait()
  expect(await ask(gateway, 'hello')).toContain('saw hello')
  expect(texts()).toEqual([])
  await writeFile(file('go'), '')
  await until(60_000, () => (texts().length > 0 ? true : undefined))
  expect(texts()).toEqual(['ordered in internal:suspects'])
  expect(await crashes()).toBe(1)
  await until(30_000, () => (isAlive(child) ? undefined : true))
  await gateway.stop()
  expect(gateway.output()).toContain('turn_suspected')
})

test.each(['stop', 'kill'] as const)(
  'a %s of the gateway ends that process too, and counts as no death of the turn',
  async (how) => {
    const { gateway, child } = await comeToWait()
    await gateway[how]()
    await until(20_000, () => (isAlive(child) ? undefined : true))
    await writeFile(file('go'), '')
    const next = await home.start()
    await until(90_000, () => (texts().length > 0 ? true : undefined))
    expect(texts()).toEqual(['ordered in internal:suspects'])
    expect(await crashes()).toBe(1)
    await next.stop()
  },
)

test('a process that its turn never lets go does not outlive a killed gateway', async () => {
  const { gateway, child } = await comeToWait('wait busily')
  await gateway.kill()
  await until(30_000, () => (isAlive(child) ? undefined : true))
})
