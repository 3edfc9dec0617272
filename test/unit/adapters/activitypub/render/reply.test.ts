// Replies as notes: who is told, who may read it, what stands in it. The cases by number are in test/conformance/activitypub.
import { describe, expect, test } from 'vitest'
import type { NormalizedResponse } from '../../../../../src/contract/index.ts'
import { alice, carol, demo, drafts, home, publicAudience, replyTo, saying } from './reply-setup.ts'

const mention = ({ actor, handle }: typeof carol | typeof alice) => ({ type: 'Mention', href: actor, name: handle })
const everything = (value: unknown): string => JSON.stringify(value)

describe('whom a reply is for', () => {
  test('a direct note to several is answered to all of them, and to nobody else', () => {
    const [draft] = drafts(saying('Hello'), replyTo({ visibility: 'direct', participants: [alice, carol] }))
    expect(draft?.note).toMatchObject({ to: [alice.actor, carol.actor], cc: [], tag: [mention(alice), mention(carol)] })
    expect(draft?.recipients.map(({ inbox }) => inbox)).toEqual([alice.inbox, carol.inbox])
    for (const { handle } of [alice, carol]) expect(draft?.note['content']).toContain(`<span>${handle.slice(1)}</span>`)
  })

  test('the agent itself, addressed like the others, is neither called nor told', () => {
    const self = { actor: demo, inbox: `${demo}/inbox`, shared_inbox: null, handle: '@demo@bots.example' }
    const [draft] = drafts(saying('Hello'), replyTo({ visibility: 'direct', participants: [self, alice] }))
    expect(draft?.recipients).toHaveLength(1)
    expect(everything(draft?.note['tag'])).not.toContain(demo)
  })

  test('participants of a note that is not direct are not addressed', () => {
    for (const visibility of ['public', 'unlisted', 'followers']) {
      const [draft] = drafts(saying('Hello'), replyTo({ visibility, participants: [carol] }))
      expect(everything(draft)).not.toContain(carol.actor)
    }
  })

  test('where the operator wants it, a public note is answered in public; an unlisted one never', () => {
    const settings = { ...home, visibility: 'public' as const }
    const [open] = drafts(saying('Hello'), replyTo(), { settings })
    expect(open?.note).toMatchObject({ to: [publicAudience], cc: [alice.actor, `${demo}/followers`] })
    const [quiet] = drafts(saying('Hello'), replyTo({ visibility: 'unlisted' }), { settings })
    expect(quiet?.note).toMatchObject({ to: [alice.actor, `${demo}/followers`], cc: [publicAudience] })
  })

  test('whoever is named in the words is not called a second time before them', () => {
    const [draft] = drafts(saying('Thanks @alice@social.example!'), replyTo(), { names: ['@alice@social.example'] })
    expect(everything(draft?.note['content']).split('<span>alice@social.example</span>')).toHaveLength(2)
    expect(draft?.note['tag']).toEqual([mention(alice)])
  })

  test('a name that may be called and leads to nobody we know is text', () => {
    const [draft] = drafts(saying('Ask @bob@x.example'), replyTo(), { names: ['@bob@x.example'] })
    expect(draft?.note['content']).toContain('Ask @bob@x.example')
    expect(draft?.note['tag']).toEqual([mention(alice)])
  })
})

describe('what stands in a note', () => {
  test('a warning goes on with the answer, once', () => {
    const warned = (summary: string) => drafts(saying('Hello'), replyTo({ reply_to_as_summary: summary }))[0]?.note
    expect(warned('Food')).toMatchObject({ summary: 're: Food', sensitive: true })
    expect(warned('re: Food')).toMatchObject({ summary: 're: Food' })
    expect(warned(' ')).not.toHaveProperty('summary')
  })

  test('language and source go with the words', () => {
    const [draft] = drafts(saying('**Hello**'))
    expect(draft?.note['contentMap']).toEqual({ en: draft?.note['content'] })
    const [odd] = drafts(saying('Hello'), replyTo({ reply_to_language: 'no language' }))
    expect(odd?.note).not.toHaveProperty('contentMap')
    expect(draft?.note['source']).toEqual({ content: '@alice@social.example **Hello**', mediaType: 'text/markdown' })
  })

  test('files with an address are attached with their names, four at most; the fifth stays a line', () => {
    const parts = [1, 2, 3, 4, 5].map((each) => ({
      kind: 'file' as const,
      mime: 'image/png',
      name: `chart ${each}.png`,
      bytes_ref: { kind: 'url' as const, url: `https://files.example/${each}.png` },
    }))
    const [draft] = drafts(saying('', { parts }))
    const attachment = draft?.note['attachment']
    expect(attachment).toHaveLength(4)
    expect(attachment).toContainEqual({
      type: 'Image',
      mediaType: 'image/png',
      url: 'https://files.example/1.png',
      name: 'chart 1.png',
    })
    expect(draft?.note['content']).toContain('chart 5.png')
    expect(draft?.note['content']).not.toContain('chart 4.png')
  })

  test('stored files are attached too, unless nobody could ask for them here', () => {
    const parts = [1, 2, 3, 4, 5].map((each) => ({
      kind: 'file' as const,
      mime: 'video/mp4',
      name: `${each}.mp4`,
      bytes_ref: { kind: 'content_addressed' as const, algo: 'sha256' as const, digest: 'a'.repeat(64) },
      attachment: { id: `00000000-0000-4000-8000-00000000000${each}`, bucket: 'files', path: `${each}` },
    }))
    const [draft] = drafts(saying('', { parts }))
    expect(draft?.note['attachment']).toHaveLength(4)
    expect(draft?.note['attachment']).toContainEqual({
      type: 'Video',
      mediaType: 'video/mp4',
      name: '1.mp4',
      url: 'attachment:00000000-0000-4000-8000-000000000001',
    })
    expect(draft?.note['content']).toContain('5.mp4')
    const [without] = drafts(saying('', { parts }), replyTo(), { settings: { ...home, servesFiles: false } })
    expect(without?.note['attachment']).toEqual([])
    expect(without?.note['content']).toContain('1.mp4')
  })

  test('a file alone says no words of its own', () => {
    const bytes_ref = { kind: 'url' as const, url: 'https://files.example/a.pdf' }
    const [draft] = drafts(saying('', { parts: [{ kind: 'file', mime: 'application/pdf', name: 'a.pdf', bytes_ref }] }))
    expect(draft?.note['content']).not.toContain('Done')
    expect(draft?.note['attachment']).toMatchObject([{ type: 'Document', name: 'a.pdf' }])
  })

  test('a picture inside code is no attachment', () => {
    const [draft] = drafts(saying('`![a](https://files.example/a.png)`'))
    expect(draft?.note['attachment']).toEqual([])
  })

  test('what is called and attached is a list also where there is nothing', () => {
    const [draft] = drafts(saying('Hello'), replyTo({ visibility: 'direct' }))
    expect(draft?.note).toMatchObject({ to: [alice.actor], cc: [], attachment: [] })
    expect(Array.isArray(draft?.note['tag'])).toBe(true)
  })
})

describe('a long answer to few', () => {
  test('every note of a direct thread calls whom it is for, else their server would hide it; only the first shows it', () => {
    const notes = drafts(saying('word '.repeat(300)), replyTo({ visibility: 'direct' }))
    expect(notes.length).toBeGreaterThan(2)
    for (const { note } of notes) expect(note['tag']).toEqual([mention(alice)])
    expect(notes.map(({ note }) => everything(note['content']).includes('u-url mention'))).toEqual(
      notes.map((_, at) => at === 0),
    )
  })

  test('in a chat words of many lines stay together, files go one by one, and nobody is called', () => {
    const chat = replyTo({ visibility: 'direct', is_chat: true, reply_to_as_summary: 'food' })
    const file = (at: number) => ({
      kind: 'file',
      mime: 'image/png',
      name: `${at}.png`,
      bytes_ref: { kind: 'url', url: `https://files.example/${at}.png` },
    })
    const text = { kind: 'text', mime: 'text/markdown', content: `Over to @scribe ${'word '.repeat(300)}` }
    const parts = [text, file(1), file(2)] as NormalizedResponse['parts']
    const notes = drafts(saying('', { parts }), chat, { names: ['@scribe'] })
    expect(notes.map(({ note }) => Object.keys(note).toSorted())).toEqual([
      ['attachment', 'content', 'source', 'to', 'type'],
      ['attachment', 'content', 'to', 'type'],
    ])
    expect(everything(notes)).not.toMatch(/Mention|inReplyTo|h-card|re: food|\/ap\/scribe/)
    expect(drafts(saying('word '.repeat(2000)), chat).length).toBeGreaterThan(1)
  })

  test('whoever is named far down is called at the beginning, and only there', () => {
    const text = `${'word '.repeat(300)}\n\nOver to @scribe`
    const notes = drafts(saying(text), replyTo(), { names: ['@scribe'] })
    const link = 'mention\\" href=\\"https://bots.example/@scribe'
    expect(notes.map(({ note }) => everything(note).includes(link))).toEqual(notes.map((_, at) => at === 0))
    expect(everything(notes[0]?.note['tag'])).toContain('https://bots.example/ap/scribe')
    expect(notes.at(-1)?.note['content']).toContain('Over to @scribe')
  })
})
