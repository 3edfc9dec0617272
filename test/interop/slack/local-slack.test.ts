// The story through local-slack, whose presses of buttons and pairs of events are its own. It listens on every address, so it runs,
// with the gateway, in a network namespace where there is nobody else; without one it is not started at all.
import { spawn, spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { describeBeside, loadPeer } from '../peer.ts'
import { ending, opening } from '../story/stage.ts'

const localSlack = loadPeer('local-slack', (require) => {
  const binary = require.resolve(`local-slack-${process.platform}-${process.arch}/bin/local-slack`)
  const tried = spawnSync('unshare', [...unshareFlags(), 'ip', 'link', 'set', 'lo', 'up'])
  if (tried.status !== 0) throw new Error('a network namespace of its own cannot be made here (unshare, ip)')
  return { binary }
})

/** Whoever is not root may have one in a user namespace, where the kernel allows it. */
function unshareFlags(): readonly string[] {
  return process.getuid?.() === 0 ? ['--net'] : ['--net', '--map-root-user']
}

type Told = {
  readonly said: readonly { readonly text: string; readonly inThread: boolean }[]
  readonly paid: readonly number[]
  readonly books: Readonly<Record<string, unknown>>
  readonly explain: string
}

describeBeside('a story on local-slack, in a network of its own', localSlack, (module) => {
  test('mention, growing words, question, kill -9, its own press of the button, tool and last words: once, in the thread', async () => {
    const told = await play(module().binary)
    const texts = [opening.trim(), 'Approved: pay 12 EUR. I go on with it.', ending]
    expect(told.said).toEqual(texts.map((text) => ({ text, inThread: true })))
    expect(told.paid).toEqual([12])
    expect(told.books).toMatchObject({ answered: 2, merged: 0, dead: 0, inFlight: 0 })
    const hops = ['Received', 'Sender', 'Admitted', 'Turn', 'Step', 'Replied', 'Delivered']
    expect(
      hops.filter((hop) => !told.explain.includes(hop)),
      told.explain,
    ).toEqual([])
  }, 300_000)
})

async function play(binary: string): Promise<Told> {
  const program = fileURLToPath(new URL('local-slack-program.ts', import.meta.url))
  const script = 'ip link set lo up && exec "$0" "$@"'
  const args = [...unshareFlags(), 'sh', '-c', script, process.execPath, program, binary]
  // A group of its own, so that whatever it started ends with it.
  const child = spawn('unshare', args, { detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
  let [output, complaint] = ['', '']
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString('utf8')
  })
  child.stderr.on('data', (chunk: Buffer) => {
    complaint += chunk.toString('utf8')
  })
  const end = () => {
    if (child.pid === undefined) return
    try {
      process.kill(-child.pid, 'SIGKILL')
    } catch {}
  }
  const late = setTimeout(end, 280_000)
  await new Promise<void>((resolve) => child.once('close', () => resolve()))
  clearTimeout(late)
  end()
  const line = output.split('\n').find((each) => each.startsWith('{'))
  if (line === undefined) throw new Error(`it told nothing: ${complaint.slice(-2000)}`)
  return JSON.parse(line) as Told
}
