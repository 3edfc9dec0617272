// Mail that Cloudflare hands to the Worker: stored before it is taken, rejected in words, or thrown so that its sender tries again.
import { createExecutionContext, waitOnExecutionContext } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { expect, test } from 'vitest'
import { email } from '../../../src/channels.ts'
import { createWorker } from '../../../src/worker.ts'
import { describeInWorkerd } from './harness.ts'

/** Nobody answers there: whoever is to be looked up cannot be. */
const noNames = 'http://127.0.0.1:9/dns-query'
/** The agent of a gateway that nobody gave one. */
const agent = 'demo'
/** Without it nothing is taken: test/runtime/workerd/email-reply.test.ts. */
const sealed = { ...env, PARLEY_SEAL_KEY: '5e'.repeat(32) }
const mail = 'From: Ada <ada@example.org>\r\nMessage-ID: <1@example.org>\r\nSubject: hi\r\n\r\nhello\r\n'

describeInWorkerd('mail that is handed over', () => {
  const lines: string[] = []
  const write = (event: string, facts: object = {}) => void lines.push(JSON.stringify({ event, ...facts }))
  const connections = [email({ domain: 'agents.example', dnsOverHttps: noNames, maxBytes: 65_536 })]
  const worker = createWorker({ connections }, { log: { info: write, warn: write, error: write } })
  const hand = async (to: string, text = mail, rawSize = text.length) => {
    const rejected: string[] = []
    const raw = new Blob([text]).stream()
    const context = createExecutionContext()
    const message = { from: 'ada@example.org', to, raw, rawSize, setReject: (why: string) => void rejected.push(why) }
    const outcome = await worker.email(message, sealed, context).then(
      () => 'taken',
      () => 'thrown',
    )
    await waitOnExecutionContext(context)
    return { outcome, rejected }
  }

  test('EM-061: a report about a mail of ours is stored, and taken', async () => {
    expect(await hand('bounce+aaaaaaaa@agents.example')).toEqual({ outcome: 'taken', rejected: [] })
  })

  test.each(['nobody@agents.example', 'demo@elsewhere.example'])('EM-061: %s is rejected by name', async (to) => {
    expect(await hand(to)).toEqual({ outcome: 'taken', rejected: ['5.1.1 there is no such address here'] })
  })

  test('a mail over the limit is rejected, whatever its size was said to be', async () => {
    const large = `${mail}${'x'.repeat(70_000)}`
    const rejected = [expect.stringMatching(/^5\.3\.4 /)]
    expect(await hand(`${agent}@agents.example`, large)).toEqual({ outcome: 'taken', rejected })
    expect(await hand('bounce+aaaaaaaa@agents.example', large, 10)).toEqual({ outcome: 'taken', rejected })
  })

  test('EM-061: what cannot be judged now is thrown, so that it comes again, and said in the log', async () => {
    lines.length = 0
    expect(await hand(`${agent}@agents.example`)).toEqual({ outcome: 'thrown', rejected: [] })
    expect(lines.filter((line) => line.includes('mail_not_taken'))).toEqual([expect.stringContaining('it comes again')])
  })
})
