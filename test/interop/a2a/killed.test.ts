// The built program, killed with -9 in the middle of a remote call: the agent elsewhere is asked once, and its answer arrives.
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { startParley } from '../../doubles/parley-process.ts'
import { eventually } from '../conversation/conversation-setup.ts'
import { describeBeside } from '../peer.ts'
import { findSdk } from './sdk-peer.ts'

const library = new URL('../../../dist/index.js', import.meta.url).href

const configText = (url: string): string => `
import { a2aAgent, defineAgent, defineConfig } from ${JSON.stringify(library)}
export default defineConfig({
  agents: [
    defineAgent({ slug: 'demo', run: async (message, { agents }) => agents.call('far', { parts: message.parts }) }),
    defineAgent({ slug: 'far', model: a2aAgent(${JSON.stringify(url)}) }),
  ],
  turns: { leaseMs: 15_000 },
})
`

describeBeside('a gateway that is killed', await findSdk(), (start) => {
  // Side by side: most of it is waiting.
  test.concurrent.each([
    ['while the task is at work', 'slow 2500', 700, 'one two'],
    ['before the task was told', 'late words', 200, 'You said: words'],
  ])(
    '%s has asked once, and answers after it was started again',
    async (_when, text, afterMs, answer) => {
      const peer = await start()('rpc/1.0')
      const dataDir = await mkdtemp(join(tmpdir(), 'parley-remote-'))
      try {
        await writeFile(join(dataDir, 'parley.config.mjs'), configText(peer.url))
        const first = await startParley({ dataDir })
        const broken = first.ask('r1', text).catch(() => undefined)
        await eventually('a question to the peer', async () => (await peer.told()).asked.length === 1)
        await new Promise((resolve) => setTimeout(resolve, afterMs))
        await first.kill()
        await broken
        // The next process looks for the task before it asks again; it may be up before a slow agent has one to show.
        await eventually('a task of the peer', async () => (await peer.told()).published.length === 1)
        const second = await startParley({ dataDir })
        try {
          const again = await second.ask('r1', text)
          expect(again.text).toContain(answer)
          expect((await peer.told()).asked.map((each) => each.text)).toEqual([text])
        } finally {
          await second.stop()
        }
      } finally {
        await peer.stop()
        await rm(dataDir, { recursive: true, force: true })
      }
    },
    120_000,
  )
})
