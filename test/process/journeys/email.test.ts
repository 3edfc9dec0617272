// Mail as people first meet it: a gateway that nobody set up, started as a process, and a mail handed in on this machine.
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { freePort } from '../../doubles/free-port.ts'
import { startParley } from '../../doubles/parley-process.ts'
import { draftMail } from '../../doubles/signed-mails.ts'
import { submit } from '../../doubles/submit-mail.ts'

let dataDir: string
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'parley-mail-'))
})
afterEach(() => rm(dataDir, { recursive: true, force: true, maxRetries: 10 }))

const envelope = ['MAIL FROM:<ada@people.example>', 'RCPT TO:<demo@parley.localhost>']
const mail = (id: string) =>
  draftMail({
    from: 'Ada <ada@people.example>',
    to: 'demo@parley.localhost',
    head: [`Message-ID: <${id}@people.example>`, `Date: ${new Date().toUTCString()}`],
    body: 'hello',
  })
const replies = async (): Promise<readonly string[]> => {
  const names = await readdir(join(dataDir, 'mail')).catch(() => [])
  return Promise.all(
    names.filter((name) => name.endsWith('.eml')).map((name) => readFile(join(dataDir, 'mail', name), 'utf8')),
  )
}

test('X-005: a mail that was taken is answered once, also where the gateway is killed and the mail comes again', {
  timeout: 240_000,
}, async () => {
  const port = await freePort()
  const env = { EMAIL_CHANNEL: 'on', EMAIL_SMTP_PORT: String(port) }
  const first = await startParley({ dataDir, env })
  const same = mail('one')
  await expect.poll(() => submit(port, envelope, same).catch(() => ''), { timeout: 30_000 }).toMatch(/^250 /)
  await first.kill()
  const second = await startParley({ dataDir, env })
  try {
    await expect.poll(() => submit(port, envelope, same).catch(() => ''), { timeout: 30_000 }).toMatch(/^250 /)
    // A reply that was being sent when the gateway died is settled when its lease and its call are over.
    await expect.poll(async () => (await replies()).length, { timeout: 100_000 }).toBe(1)
    expect(await submit(port, envelope, mail('two'))).toMatch(/^250 /)
    await expect.poll(async () => (await replies()).length, { timeout: 30_000 }).toBe(2)
    const [reply] = await replies()
    expect(reply).toContain('To: Ada <ada@people.example>')
    expect(reply).toMatch(/You said: .*hello/s)
    expect(await submit(port, [envelope[0] ?? '', 'RCPT TO:<nobody@parley.localhost>'], same)).toMatch(/^550 5\.1\.1/)
  } finally {
    await second.stop()
  }
})
