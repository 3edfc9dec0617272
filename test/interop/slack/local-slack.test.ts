// The story through local-slack, whose presses of buttons and pairs of events are its own. It listens on every address, so it runs,
// with the gateway, in a network namespace where there is nobody else; without one it is not started at all.
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { ending, opening } from '../conversation/conversation-setup.ts'
import { findNetworkNamespace, type NetworkNamespace } from '../network-namespace.ts'
import { describeBeside, loadPeer, type Peer, provePeer } from '../peer.ts'

type LocalSlack = { readonly binary: string; readonly inside: NetworkNamespace }

const localSlack = await findLocalSlack()

/** It has listened in a network namespace and told its state. */
async function findLocalSlack(): Promise<Peer<LocalSlack>> {
  const binary = loadPeer('local-slack', (require) =>
    require.resolve(`local-slack-${process.platform}-${process.arch}/bin/local-slack`),
  )
  if ('problem' in binary) return binary
  const inside = await findNetworkNamespace()
  if ('problem' in inside) return { problem: `local-slack: ${inside.problem}` }
  const found = { binary: binary.module, inside: inside.module }
  return provePeer('local-slack', { module: found }, (peer) => play(peer, 'smoke'))
}

type Told = {
  readonly said: readonly { readonly text: string; readonly inThread: boolean }[]
  readonly paid: readonly number[]
  readonly books: Readonly<Record<string, unknown>>
  readonly explain: string
}

describeBeside('a story on local-slack, in a network of its own', localSlack, (module) => {
  test('mention, growing words, question, kill -9, its own press of the button, tool and last words: once, in the thread', async () => {
    const told = await play(module(), 'story')
    const texts = [opening.trim(), 'Approved by ada: pay 12 EUR.', ending]
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

async function play({ binary, inside }: LocalSlack, what: 'smoke' | 'story'): Promise<Told> {
  const program = fileURLToPath(new URL('local-slack-program.ts', import.meta.url))
  const [command, ...args] = inside(process.execPath, program, binary, what)
  // A group of its own, so that whatever it started ends with it.
  const child = spawn(command, args, { detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
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
  const late = setTimeout(end, what === 'smoke' ? 30_000 : 280_000)
  await new Promise<void>((resolve) => child.once('close', () => resolve()))
  clearTimeout(late)
  end()
  const line = output.split('\n').find((each) => each.startsWith('{'))
  if (line === undefined)
    throw new Error(/^\w*Error\b.*/m.exec(complaint)?.[0] ?? `it told nothing: ${complaint.slice(-2000)}`)
  return JSON.parse(line) as Told
}
