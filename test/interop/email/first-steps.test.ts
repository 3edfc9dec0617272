// Mail as the first page about it says: a gateway that nobody set up, and the commands of that page as they stand there. Port 2525 is
// the same for everybody, so it all happens in a network of its own, where there is nobody else.
import { execFile } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import PostalMime, { type Email } from 'postal-mime'
import { expect, test } from 'vitest'
import { findNetworkNamespace, type NetworkNamespace } from '../network-namespace.ts'
import { describeBeside, type Peer } from '../peer.ts'
import { type Curl, findCurl } from './curl-mailbox.ts'
import { findSwaks, type Swaks } from './swaks.ts'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../../../', import.meta.url))

type Parts = { readonly swaks: Swaks; readonly curl: Curl; readonly inside: NetworkNamespace }

const parts = await findParts()

async function findParts(): Promise<Peer<Parts>> {
  const [swaks, curl, inside] = [await findSwaks(), await findCurl(), await findNetworkNamespace()]
  if ('problem' in swaks) return swaks
  if ('problem' in curl) return curl
  if ('problem' in inside) return inside
  return { module: { swaks: swaks.module, curl: curl.module, inside: inside.module } }
}

describeBeside('the first steps with mail, as docs/email.md tells them', parts, (module) => {
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
      const { swaks, curl, inside } = module()
      const path = [dirname(process.execPath), swaks.folder, curl.folder, process.env['PATH']].join(':')
      const [command, ...args] = inside('sh', join(folder, 'steps.sh'))
      await run(command, args, {
        cwd: folder,
        env: { PATH: path, HOME: folder },
        timeout: 150_000,
      })

      const printed = await readFile(join(folder, 'start.txt'), 'utf8')
      expect(printed).toContain(
        'Connection: email/default -> demo (this machine only) at smtp://127.0.0.1:2525; answers are files in ',
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
    `for i in $(seq 300); do [ "$(ls .parley/mail/*.eml 2> /dev/null | wc -l)" -ge ${count} ] && break; sleep 0.1; done`
  return `set -e
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
