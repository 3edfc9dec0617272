// `parley email setup`, `check` and `send-test`: keys that are made once, records that hold, and a mail that says what became of it.
import { chmod, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { dkimVerify } from 'mailauth/lib/dkim/verify.js'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { ZoneLookup } from '../../../../../adapters/email/setup/check-domain.ts'
import { emailCommands, runDomainCheck } from '../../../../../adapters/email/setup/commands.ts'
import { channelCommandGroup } from '../../../../../src/cli/channel-commands.ts'
import { runCli } from '../../../../../src/cli/command-line.ts'
import type { CommandContext, CommandFlags, CommandResult } from '../../../../../src/contract/index.ts'
import { secret } from '../../../../../src/lib/secret.ts'
import { mailSettings } from '../../../../doubles/mailer-deps.ts'
import { startSmtpSink } from '../../../../doubles/smtp-sink.ts'

const domain = 'agents.example'
let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'parley-email-setup-'))
})
afterEach(() => rm(folder, { recursive: true }))

function deskOf(environment: Record<string, string> = {}, settings?: unknown): CommandContext {
  return {
    environment: { PARLEY_DATA_DIR: folder, ...environment },
    fetch,
    settings: async (id) =>
      id === 'default' && settings !== undefined ? { settings, publicUrl: undefined } : undefined,
  }
}

async function run(name: string, flags: CommandFlags, desk = deskOf()): Promise<CommandResult> {
  const command = emailCommands.commands.find((each) => each.name === name)
  return command === undefined ? expect.unreachable(`no command ${name}`) : command.run(flags, desk)
}

type SetupValue = {
  keyFile: string
  isNew: boolean
  records: { type: string; name: string; value: string; zone: string }[]
}
const made = async (flags: CommandFlags = { domain }, desk = deskOf()) =>
  (await run('setup', flags, desk)).value as SetupValue

/** A zone as the records say it. */
function zoneOf(records: SetupValue['records']): ZoneLookup {
  const found = (type: string, name: string) =>
    records.flatMap((each) => (each.type === type && each.name === name ? [each.value] : []))
  return {
    mx: async (name) => found('MX', name).map((value) => value.replace(/^\d+ /, '')),
    txt: async (name) => found('TXT', name),
  }
}

describe('setup', () => {
  test('makes two keys for their owner alone, and never others in their place', async () => {
    const first = await made()
    expect(first).toMatchObject({ isNew: true, keyFile: join(folder, `email-dkim-${domain}.json`) })
    expect((await stat(first.keyFile)).mode & 0o777).toBe(0o600)
    const before = await readFile(first.keyFile, 'utf8')
    const second = await made()
    expect(second).toEqual({ ...first, isNew: false })
    expect(await readFile(first.keyFile, 'utf8')).toBe(before)
    expect(await readdir(folder)).toEqual([`email-dkim-${domain}.json`])
  })

  test('two at once make one pair of keys', async () => {
    const [one, other] = await Promise.all([made(), made()])
    expect(one.records).toEqual(other.records)
    expect([one.isNew, other.isNew].toSorted()).toEqual([false, true])
  })

  test('prints every record, ready for a zone file, and no secret', async () => {
    const { text, value } = await run('setup', { domain, host: 'mx.example.org' })
    const { records } = value as SetupValue
    expect(records.map(({ type, name }) => `${type} ${name}`)).toEqual([
      `MX ${domain}`,
      `TXT ${domain}`,
      expect.stringMatching(/^TXT p\d{8}r\._domainkey\.agents\.example$/),
      expect.stringMatching(/^TXT p\d{8}e\._domainkey\.agents\.example$/),
      `TXT _dmarc.${domain}`,
    ])
    expect(records[0]?.zone).toBe('agents.example. 3600 IN MX 10 mx.example.org.')
    for (const { zone } of records) {
      expect(text).toContain(zone)
      for (const [, string = ''] of zone.matchAll(/"([^"]*)"/g)) expect(string.length).toBeLessThanOrEqual(255)
    }
    expect(text + JSON.stringify(value)).not.toContain('PRIVATE KEY')
    expect(text).toContain(`EMAIL_DOMAIN=${domain} EMAIL_DKIM_KEY=${folder}`)
  })

  test('a mail signed with the keys holds against the records', async () => {
    const { records, keyFile } = await made()
    const sink = await startSmtpSink(['ann@example.org'])
    try {
      const settings = mailSettings({ smtpUrl: secret(sink.url), dkimKeyFile: keyFile })
      expect(await run('send-test', { to: 'ann@example.org' }, deskOf({}, settings))).toMatchObject({
        value: { outcome: { kind: 'delivered' } },
      })
      const resolver = async (name: string) => [records.flatMap((each) => (each.name === name ? [each.value] : []))]
      const raw = Buffer.from(sink.mails[0]?.raw ?? '', 'latin1')
      const { results } = await dkimVerify(raw, { resolver, sender: '' } as never)
      expect(results.map(({ status }) => status.result)).toEqual(['pass', 'pass'])
      expect(sink.unexpected).toEqual([])
    } finally {
      await sink.close()
    }
  })

  test.each(['', 'localhost', 'parley.localhost', '127.0.0.1', 'a b.example', '-x.example', 'x'])(
    '%j is no domain to set up',
    async (given) => {
      await expect(run('setup', { domain: given })).rejects.toMatchObject({ code: 'bad_request' })
      expect(await readdir(folder)).toEqual([])
    },
  )

  test.each([
    ['something else', 'hello', 'is no key file of ours; move it away first'],
    [
      'the keys of another domain',
      JSON.stringify({ domain: 'b.example', keys: [{ selector: 'a', privateKey: 'x' }] }),
      'holds the keys of b.example',
    ],
  ])('a file that is %s is left alone', async (_, content, problem) => {
    const path = join(folder, 'key')
    await writeFile(path, content)
    await expect(run('setup', { domain }, deskOf({ EMAIL_DKIM_KEY: path }))).rejects.toThrow(problem)
    expect(await readFile(path, 'utf8')).toBe(content)
  })

  test('a place that cannot be written to is named', async () => {
    await writeFile(join(folder, 'file'), '')
    await chmod(folder, 0o700)
    const desk = deskOf({ EMAIL_DKIM_KEY: join(folder, 'file', 'key') })
    await expect(run('setup', { domain }, desk)).rejects.toThrow(/cannot be (?:read|written)/)
  })
})

describe('check', () => {
  const checked = async (lookup: ZoneLookup) => runDomainCheck({ domain }, deskOf(), async () => lookup)

  test('is content with the records of setup', async () => {
    const { text, value, problem } = await checked(zoneOf((await made()).records))
    expect(problem).toBeUndefined()
    expect(value).toMatchObject({ isReady: true })
    expect(text.split('\n').every((line) => / {2}ok {2}/.test(line.replace(/ +/g, '  ')))).toBe(true)
  })

  const without = (records: SetupValue['records'], part: string) =>
    records.filter(({ value, type }) => !`${type} ${value}`.includes(part))
  test.each([
    ['MX', 'MX ', 'no mail gets here'],
    ['SPF', 'v=spf1', 'add the SPF record'],
    ['DKIM', 'k=rsa', 'receivers do not trust its signatures'],
    ['DMARC', 'v=DMARC1', 'add the DMARC record'],
  ])('names a missing %s record and what to do', async (what, part, remedy) => {
    const { text, problem } = await checked(zoneOf(without((await made()).records, part)))
    expect(problem).toContain(what)
    expect(text).toContain(remedy)
  })

  test.each([
    ['v=spf1 mx ~all', 'v=spf1 mx +all', 'it lets any server send'],
    ['p=quarantine', 'p=none', 'it stops no forged mail'],
    ['k=ed25519; p=', 'k=ed25519; p=AAAA', 'replace it by the record'],
  ])('names a record that says %j as %j', async (right, wrong, remedy) => {
    const records = (await made()).records.map((each) => ({ ...each, value: each.value.replace(right, wrong) }))
    const { text, problem } = await checked(zoneOf(records))
    expect(problem).toBeDefined()
    expect(text).toContain(remedy)
  })

  test('two SPF records are one too many', async () => {
    const { records } = await made()
    const spf = records.filter(({ value }) => value.startsWith('v=spf1'))
    expect((await checked(zoneOf([...records, ...spf]))).text).toContain('only one may be there')
  })

  test('no answer is not the same as nothing', async () => {
    await made()
    const silent: ZoneLookup = { mx: async () => undefined, txt: async () => undefined }
    const { text, problem } = await checked(silent)
    expect(problem).toBeDefined()
    expect(text).toContain('no name server answered')
  })

  test('without keys it says that replies are not signed', async () => {
    expect((await checked(zoneOf([]))).text).toContain(`replies are not signed; run: parley email setup ${domain}`)
  })
})

describe('send-test', () => {
  test('says what the server said', async () => {
    const sink = await startSmtpSink(['ann@example.org'])
    try {
      sink.failOnce({ at: 'RCPT', code: 550, words: '5.7.1 not allowed' })
      const { problem, text } = await run(
        'send-test',
        { to: 'ann@example.org' },
        deskOf({}, mailSettings({ smtpUrl: secret(sink.url) })),
      )
      expect(problem).toBe('the mail was not sent: refused for good: smtp_550: 5.7.1 not allowed')
      expect(text).toContain('not at all; run: parley email setup')
    } finally {
      await sink.close()
    }
  })

  test('without a server it is a file, and says where', async () => {
    const settings = mailSettings({ mailFolder: join(folder, 'mail') })
    const { text } = await run('send-test', { to: 'ann@example.org' }, deskOf({}, settings))
    expect(text).toContain(`a file in ${join(folder, 'mail')}, because SMTP_URL is not set`)
    expect(await readdir(join(folder, 'mail'))).toHaveLength(1)
  })

  test.each(['', 'ann', 'a@b\r\nRCPT TO:<z@e.example>'])('%j gets no mail', async (to) => {
    await expect(run('send-test', { to }, deskOf({}, mailSettings()))).rejects.toMatchObject({ code: 'bad_request' })
  })

  test('says that there is no such connection', async () => {
    await expect(run('send-test', { to: 'ann@example.org' })).rejects.toThrow('there is no connection email/default')
  })
})

describe('on the command line', () => {
  const root = { name: 'parley', description: 'x', examples: ['x'], commands: [channelCommandGroup(emailCommands)] }
  const output = { out: '', err: '' }
  const real = { out: process.stdout.write, err: process.stderr.write, folder: process.env['PARLEY_DATA_DIR'] }
  const kept = (name: 'out' | 'err') => (text: string | Uint8Array) => {
    output[name] += String(text)
    return true
  }
  beforeEach(() => {
    Object.assign(output, { out: '', err: '' })
    process.env['PARLEY_DATA_DIR'] = folder
    process.stdout.write = kept('out')
    process.stderr.write = kept('err')
  })
  afterEach(() => {
    process.stdout.write = real.out
    process.stderr.write = real.err
    if (real.folder === undefined) delete process.env['PARLEY_DATA_DIR']
    else process.env['PARLEY_DATA_DIR'] = real.folder
    process.exitCode = undefined
  })

  test('the domain is a word of its own', async () => {
    expect(await runCli(root, '0', ['email', 'setup', domain, '--json'])).toBe(0)
    expect(JSON.parse(output.out)).toMatchObject({ domain, isNew: true })
  })

  test.each([
    [['email', 'setup'], '<DOMAIN> is missing'],
    [['email', 'setup', 'localhost'], 'is no domain'],
    [['email', 'send-test'], '--to is missing'],
  ])('%j is wrong usage', async (words, problem) => {
    expect(await runCli(root, '0', words)).toBe(2)
    expect(output.err).toContain(problem)
  })

  test('help shows what is wanted, with examples', async () => {
    expect(await runCli(root, '0', ['email', 'setup', '--help'])).toBe(0)
    expect(output.out).toContain('parley email setup agents.example.org --host mail.example.org')
    expect(output.out).toContain('<DOMAIN>')
  })
})
