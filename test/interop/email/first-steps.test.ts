// Mail as the first page about it says: a gateway that nobody set up, and the commands of that page as they stand there. Port 2525 is
// the same for everybody, so it all happens in a network of its own, where there is nobody else.
import { execFile, spawnSync } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import PostalMime, { type Email } from 'postal-mime'
import { expect, test } from 'vitest'
import { describeBeside, type Peer } from '../peer.ts'
import { findSwaks, type Swaks } from './swaks.ts'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../../../', import.meta.url))
/** Whoever is not root may have a network in a user namespace, where the kernel allows it. */
const unshare = process.getuid?.() === 0 ? ['--net'] : ['--net', '--map-root-user']

const swaks = await findInNetwork()

async function findInNetwork(): Promise<Peer<Swaks>> {
  if (spawnSync('unshare', [...unshare, 'ip', 'link', 'set', 'lo', 'up']).status !== 0)
    return { problem: 'a network namespace of its own cannot be made here (unshare, ip)' }
  if (spawnSync('curl', ['--version']).status !== 0) return { problem: 'there is no curl' }
  return findSwaks()
}

describeBeside('the first steps with mail, as docs/email.md tells them', swaks, (module) => {
  test('lead to an answer, to a second one in the same session, and to a file each way', {
    timeout: 180_000,
  }, async () => {
    const folder = await mkdtemp(join(tmpdir(), 'parley-first-mail-'))
    try {
      const page = await readFile(join(root, 'docs/email.md'), 'utf8')
      const [, tryIt = ''] = /^## Try it\n([\s\S]*?)^## /m.exec(page) ?? []
      const [first = '', second = '', ...others] = [...tryIt.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, text]) => text)
      expect(others).toEqual([])
      await writeFile(join(folder, 'steps.sh'), steps(first, second))
      await writeFile(join(folder, 'bill.pdf'), 'a bill')
      const program = ['sh', join(folder, 'steps.sh')]
      const path = [dirname(process.execPath), dirname(module().command[1] ?? ''), process.env['PATH']].join(':')
      await run('unshare', [...unshare, ...program], {
        cwd: folder,
        env: { PATH: path, HOME: folder },
        timeout: 150_000,
      })

      const printed = await readFile(join(folder, 'start.txt'), 'utf8')
      expect(printed).toContain(
        'Connection: email/default -> demo (public) at smtp://127.0.0.1:2525; answers are files in ',
      )
      expect(await readFile(join(folder, 'shown.txt'), 'utf8')).toMatch(/You said: \[subject: Hello\]\r\nHow are you\?/)
      const mails = await repliesIn(join(folder, '.parley/mail'))
      expect(mails.map(({ text }) => text)).toEqual([
        expect.stringContaining('This is turn 1 of our session'),
        expect.stringMatching(/You said: And tomorrow\?[\s\S]*This is turn 2 of our session/),
        expect.stringContaining('File: bill.pdf (text/plain, 6 bytes'),
        expect.stringContaining('Here it is.'),
      ])
      const [file] = mails.at(-1)?.attachments ?? []
      expect([file?.filename, Buffer.from(file?.content as ArrayBuffer).toString()]).toEqual(['demo.txt', 'hello\n'])
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  })
})

/** What a person does: starts it, follows the page, and waits for each answer. */
function steps(first: string, second: string): string {
  const hand = 'swaks --server 127.0.0.1:2525 --from ada@people.example --to demo@parley.localhost'
  const answered = (count: number) =>
    `for i in $(seq 300); do [ "$(ls .parley/mail | wc -l)" -ge ${count} ] && break; sleep 0.1; done`
  return `set -e
ip link set lo up
'${process.execPath}' '${join(root, 'bin/parley.js')}' start > start.txt 2>&1 &
gateway=$!
trap 'kill -9 $gateway' EXIT
for i in $(seq 600); do grep -q 'is up at' start.txt && break; sleep 0.1; done
{
${first.replace('sleep 2\n', `${answered(1)}\n`)}} > shown.txt
${second}
${answered(2)}
${hand} --body 'A bill.' --attach-name bill.pdf --attach @bill.pdf
${answered(3)}
${hand} --body '/file hello'
${answered(4)}
`
}

async function repliesIn(folder: string): Promise<readonly Email[]> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.eml'))
  const files = await Promise.all(
    names.map(async (name) => ({ name, written: (await stat(join(folder, name))).mtimeMs })),
  )
  const sorted = files.toSorted((one, other) => one.written - other.written)
  return Promise.all(sorted.map(async ({ name }) => PostalMime.parse(await readFile(join(folder, name)))))
}
