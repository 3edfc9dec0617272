// Reading activities (AP-084 and its neighbours): one shape for whatever shapes servers write.
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  isUnreadableActivity,
  publicCollection,
  readActivity,
  readNoteObject,
} from '../../../../../adapters/activitypub/vocab.ts'
import type { ReadActivity } from '../../../../../adapters/activitypub/wire/activity.ts'
import { scaled } from '../../../../setup/scale.ts'

const alice = 'https://remote.example/users/alice'

function activity(json: object): ReadActivity {
  const read = readActivity(json as Record<string, unknown>)
  if (isUnreadableActivity(read)) throw new Error(read.reason)
  return read
}

const fieldOf = (name: keyof ReturnType<typeof readNoteObject>) => (given: object) => readNoteObject({ ...given })[name]

describe('a note', () => {
  test('as Mastodon writes it becomes every field', () => {
    const note = {
      id: `${alice}/statuses/1`,
      type: 'Note',
      summary: 'cw',
      inReplyTo: 'https://agents.example/ap/concierge/notes/1',
      published: '2026-11-17T12:00:00Z',
      url: 'https://remote.example/@alice/1',
      attributedTo: alice,
      to: [publicCollection],
      cc: [`${alice}/followers`, 'https://agents.example/ap/concierge'],
      sensitive: true,
      conversation: 'tag:remote.example,2026:objectId=1:objectType=Conversation',
      context: 'https://remote.example/contexts/1',
      content: '<p>Hello</p>',
      contentMap: { en: '<p>Hello</p>' },
      updated: '2026-11-17T12:05:00Z',
      attachment: [
        { type: 'Document', mediaType: 'image/png', url: 'https://remote.example/1.png', name: 'a cat', blurhash: 'x' },
      ],
      tag: [{ type: 'Mention', href: 'https://agents.example/ap/concierge', name: '@concierge@agents.example' }],
    }
    expect(readNoteObject(note)).toEqual({
      id: `${alice}/statuses/1`,
      type: 'Note',
      attributedTo: alice,
      to: [publicCollection],
      cc: [`${alice}/followers`, 'https://agents.example/ap/concierge'],
      content: '<p>Hello</p>',
      language: 'en',
      summary: 'cw',
      isSensitive: true,
      name: '',
      inReplyTo: 'https://agents.example/ap/concierge/notes/1',
      context: 'https://remote.example/contexts/1',
      conversation: 'tag:remote.example,2026:objectId=1:objectType=Conversation',
      tags: [{ type: 'Mention', href: 'https://agents.example/ap/concierge', name: '@concierge@agents.example' }],
      attachments: [{ type: 'Document', url: 'https://remote.example/1.png', mediaType: 'image/png', alt: 'a cat' }],
      options: [],
      quote: undefined,
      url: 'https://remote.example/@alice/1',
      published: '2026-11-17T12:00:00Z',
      updated: '2026-11-17T12:05:00Z',
      audience: [],
    })
  })
})

describe('AP-084: shapes', () => {
  test.each([
    ['a text', { to: 'https://a.example/1' }, ['https://a.example/1']],
    [
      'a list',
      { to: ['https://a.example/1', 'https://a.example/1', 'https://a.example/2'] },
      ['https://a.example/1', 'https://a.example/2'],
    ],
    ['objects', { to: { id: 'https://a.example/1', type: 'Person' } }, ['https://a.example/1']],
    ['short names of everybody', { to: ['as:Public', 'Public'] }, [publicCollection]],
    ['null', { to: null }, []],
    ['nonsense', { to: [1, null, [], {}, ''] }, []],
  ])('to is %s', (_, given, expected) => {
    expect(fieldOf('to')(given)).toEqual(expected)
  })

  test.each([
    [
      'an object',
      { tag: { type: 'Mention', href: alice, name: '@alice' } },
      [{ type: 'Mention', href: alice, name: '@alice' }],
    ],
    [
      'of unknown types among others',
      { tag: [{ type: 'X' }, 'y', null, { type: 'Hashtag', name: '#a' }] },
      [{ type: 'Hashtag', href: undefined, name: '#a' }],
    ],
    [
      'with a prefixed type',
      { tag: [{ type: 'toot:Emoji', name: ':a:' }] },
      [{ type: 'Emoji', href: undefined, name: ':a:' }],
    ],
    ['missing', {}, []],
  ])('tag is %s', (_, given, expected) => {
    expect(fieldOf('tags')(given)).toEqual(expected)
  })

  test.each([
    ['a list', { inReplyTo: ['https://a.example/1', 'https://a.example/2'] }, 'https://a.example/1'],
    ['an object', { inReplyTo: { id: 'https://a.example/1' } }, 'https://a.example/1'],
    ['empty', { inReplyTo: [] }, undefined],
    ['null', { inReplyTo: null }, undefined],
  ])('inReplyTo is %s', (_, given, expected) => {
    expect(fieldOf('inReplyTo')(given)).toBe(expected)
  })

  test.each([
    ['only in a map', { contentMap: { de: 'Hallo' } }, 'Hallo', 'de'],
    ['null beside a map', { content: null, contentMap: { de: 'Hallo' } }, 'Hallo', 'de'],
    [
      'in both, the second language being its own',
      { content: 'Hello', contentMap: { de: 'Hallo', en: 'Hello' } },
      'Hello',
      'en',
    ],
    ['a value with a language', { content: { '@value': 'Hello', '@language': 'en' } }, 'Hello', 'en'],
    ['a list', { content: ['Hello', 'Hallo'] }, 'Hello', undefined],
    ['in no language in particular', { contentMap: { und: 'Hello' } }, 'Hello', undefined],
    ['missing', {}, '', undefined],
    ['a number', { content: 1, contentMap: [] }, '', undefined],
  ])('content is %s', (_, given, content, language) => {
    expect(readNoteObject(given)).toMatchObject({ content, language })
  })

  test.each([
    [
      'a link object',
      { url: { type: 'Link', href: 'https://a.example/1', mediaType: 'text/html' } },
      'https://a.example/1',
    ],
    [
      'several, one of them a page',
      {
        url: [
          { href: 'https://a.example/v.mp4', mediaType: 'video/mp4' },
          { href: 'https://a.example/1', mediaType: 'text/html' },
        ],
      },
      'https://a.example/1',
    ],
    ['several, none of them a page', { url: ['https://a.example/1', 'https://a.example/2'] }, 'https://a.example/1'],
  ])('url is %s', (_, given, expected) => {
    expect(fieldOf('url')(given)).toBe(expected)
  })

  test.each([
    [
      'alone',
      { attachment: { type: 'Image', url: 'https://a.example/1.png', summary: 'alt' } },
      [['Image', 'https://a.example/1.png', undefined, 'alt']],
    ],
    [
      'as a link',
      { attachment: [{ type: 'Link', href: 'https://a.example/' }] },
      [['Link', 'https://a.example/', undefined, '']],
    ],
    [
      'with a list of addresses',
      { attachment: [{ type: 'Video', url: [{ href: 'https://a.example/v', mediaType: 'video/mp4' }] }] },
      [['Video', 'https://a.example/v', 'video/mp4', '']],
    ],
    ['without an address', { attachment: [{ type: 'PropertyValue', name: 'x', value: 'y' }, null, 1] }, []],
  ])('attachment is %s', (_, given, expected) => {
    const read = readNoteObject(given).attachments.map(({ type, url, mediaType, alt }) => [type, url, mediaType, alt])
    expect(read).toEqual(expected)
  })

  test.each([
    ['oneOf', { oneOf: [{ type: 'Note', name: 'tea' }, { name: 'coffee' }, {}, 'x'] }, ['tea', 'coffee']],
    ['anyOf alone', { anyOf: { name: 'tea' } }, ['tea']],
  ])('options come from %s', (_, given, expected) => {
    expect(fieldOf('options')(given)).toEqual(expected)
  })

  test.each(['quote', 'quoteUrl', 'quoteUri', '_misskey_quote'])('a quote may be called %s', (name) => {
    expect(fieldOf('quote')({ [name]: 'https://a.example/1' })).toBe('https://a.example/1')
  })

  test('who wrote it is the first of several; a time that is none is left out', () => {
    const given = { attributedTo: [{ type: 'Person', id: alice }, 'https://a.example/channel'], published: 'soon' }
    expect(readNoteObject(given)).toMatchObject({ attributedTo: alice, published: undefined })
  })
})

describe('an activity', () => {
  const follow = { id: `${alice}#follow`, type: 'Follow', actor: alice, object: 'https://agents.example/ap/concierge' }

  test('has its object embedded, or by its address', () => {
    const create = { type: 'Create', actor: alice, object: { id: `${alice}/1`, type: 'Note', content: 'x' } }
    expect(activity(create).object).toMatchObject({ id: `${alice}/1`, content: 'x' })
    expect(activity({ ...create, object: `${alice}/1` }).object).toBe(`${alice}/1`)
    expect(activity({ ...create, object: [`${alice}/1`, `${alice}/2`] }).object).toBe(`${alice}/1`)
    expect(activity({ ...create, object: undefined }).object).toBeUndefined()
  })

  test.each(['Undo', 'Accept', 'Reject', 'Announce'])('%s has the activity inside it', (type) => {
    const read = activity({ id: `${alice}#1`, type, actor: alice, object: follow })
    expect(read.inner).toMatchObject({ id: follow.id, type: 'Follow', actor: alice, object: follow.object })
    expect(activity({ id: `${alice}#1`, type, actor: alice, object: follow.id }).inner).toBeUndefined()
  })

  test('goes two activities deep and no further', () => {
    let json: object = follow
    for (let depth = 0; depth < 5; depth += 1) json = { type: 'Undo', actor: alice, object: json }
    const read = activity(json)
    expect(read.inner?.inner?.type).toBe('Undo')
    expect(read.inner?.inner?.inner).toBeUndefined()
  })

  test('may name its actor as an object or in a list of one', () => {
    const actors = [alice, { id: alice, type: 'Person' }, [alice], [{ id: alice }]]
    expect(actors.map((actor) => activity({ ...follow, actor }).actor)).toEqual(actors.map(() => alice))
  })

  test.each([
    ['no type', { actor: alice }, 'no_type'],
    ['a type that is no word', { actor: alice, type: 1 }, 'no_type'],
    ['no actor', { type: 'Create' }, 'no_actor'],
    ['an actor that is no address', { type: 'Create', actor: 1 }, 'no_actor'],
    ['two actors', { type: 'Create', actor: [alice, 'https://a.example/'] }, 'no_actor'],
  ])('is none with %s', (_, json, reason) => {
    expect(readActivity(json)).toEqual({ kind: 'fault', reason })
  })

  test('keeps the whole of what came', () => {
    expect(activity(follow).raw).toEqual(follow)
  })

  test('reads whatever JSON there is without an error', () => {
    const fields = ['to', 'tag', 'content', 'contentMap', 'url', 'attachment', 'oneOf', 'inReplyTo', 'object', 'quote']
    const anything = fc.dictionary(fc.constantFrom(...fields), fc.jsonValue())
    fc.assert(
      fc.property(anything, anything, (outer, inner) => {
        expect(isUnreadableActivity(readActivity({ ...outer, object: inner, type: 'Undo', actor: alice }))).toBe(false)
      }),
      { numRuns: scaled(200) },
    )
  })
})
