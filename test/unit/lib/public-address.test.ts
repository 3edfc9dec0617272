// Public or not: the registries of special addresses, and every spelling of them that a URL may use.
import { expect, test } from 'vitest'
import { checkTarget, isPublicAddress } from '../../../src/lib/index.ts'

const inside = [
  '0.0.0.0',
  '0.1.2.3',
  '10.0.0.1',
  '100.64.0.1',
  '100.127.255.255',
  '127.0.0.1',
  '127.255.255.254',
  '169.254.169.254',
  '172.16.0.1',
  '172.31.255.255',
  '192.0.0.8',
  '192.0.2.1',
  '192.88.99.1',
  '192.168.0.1',
  '198.18.0.1',
  '198.19.255.255',
  '198.51.100.7',
  '203.0.113.7',
  '224.0.0.1',
  '239.255.255.255',
  '240.0.0.1',
  '255.255.255.255',
  '::',
  '::1',
  '::7f00:1',
  '::ffff:127.0.0.1',
  '::ffff:7f00:1',
  '::ffff:10.0.0.1',
  '64:ff9b::127.0.0.1',
  '64:ff9b::a9fe:a9fe',
  '64:ff9b:1::1',
  '100::1',
  '2001::1',
  '2001:10::1',
  '2001:20::1',
  '2001:db8::1',
  '2002:7f00:1::',
  '2002:808:808::1',
  '3fff::1',
  '3fff:fff::1',
  '4000::1',
  '5f00::1',
  'fc00::1',
  'fd12:3456::1',
  'fe80::1',
  'fec0::1',
  'ff02::1',
  'fe80::1%eth0',
]
const outside = [
  '1.1.1.1',
  '8.8.8.8',
  '93.184.216.34',
  '100.63.255.255',
  '100.128.0.1',
  '172.15.0.1',
  '172.32.0.1',
  '192.0.3.1',
  '198.17.0.1',
  '198.20.0.1',
  '223.255.255.255',
  '2606:4700::1111',
  '2a00:1450:4001::1',
  '2001:200::1',
  '::ffff:8.8.8.8',
  '64:ff9b::808:808',
  '3fff:1000::1',
]
const nobody = ['', 'localhost', '127.1', '1.2.3', '1.2.3.256', '0x7f.0.0.1', '1::2::3', ':::', '1:2:3:4:5:6:7', 'g::1']

test.each(inside)('%s is not public', (address) => expect(isPublicAddress(address)).toBe(false))
test.each(outside)('%s is public', (address) => expect(isPublicAddress(address)).toBe(true))
test.each(nobody)('what is no address is not public: "%s"', (text) => expect(isPublicAddress(text)).toBe(false))

test.each([
  'https://2130706433/',
  'https://0x7f000001/',
  'https://017700000001/',
  'https://127.1/',
  'https://0/',
  'https://0x7f.1/',
  'https://①②⑦.0.0.1/',
  'https://[::ffff:127.0.0.1]/',
  'https://[0:0:0:0:0:0:0:1]/',
  'https://192.168.0.1/',
  'https://[fe80::1]/',
  'https://localhost/',
  'https://db/',
  'https://a.localhost/',
  'https://metadata.google.internal/',
  'https://printer.local/',
])('%s leads inside, however it is spelled', (url) => {
  for (const pins of [true, false]) expect(checkTarget(url, { pins })).toEqual({ ok: false, reason: 'address' })
})

test.each([
  ['not a url', 'bad_url'],
  ['ftp://example.com/', 'scheme'],
  ['http://example.com/', 'scheme'],
  ['file:///etc/passwd', 'scheme'],
  ['https://user:pw@example.com/', 'credentials'],
  ['https://user@example.com/', 'credentials'],
  ['https://example.com:8443/', 'port'],
  ['https://example.com./', 'host'],
  ['https://evil.example/', 'host'],
  ['https://example.com.evil.example/', 'host'],
  ['https://notexample.com/', 'host'],
])('%s is refused: %s', (url, reason) => {
  expect(checkTarget(url, { pins: true, hosts: ['example.com'] })).toEqual({ ok: false, reason })
})

test('the host is compared as the parser writes it, and what the operator wrote down may be plain and near', () => {
  expect(checkTarget('https://EXAMPLE.com/x', { pins: false, hosts: ['example.com'] })).toMatchObject({ ok: true })
  const own = { pins: false, origins: ['http://127.0.0.1:8081'] }
  expect(checkTarget('http://127.0.0.1:8081/file', own)).toMatchObject({ ok: true, literal: '127.0.0.1' })
  expect(checkTarget('http://127.0.0.1:8082/file', own)).toEqual({ ok: false, reason: 'scheme' })
})

test('without pinning an address literal is refused even where it is public', () => {
  expect(checkTarget('https://8.8.8.8/', { pins: false })).toEqual({ ok: false, reason: 'address' })
  expect(checkTarget('https://8.8.8.8/', { pins: true })).toMatchObject({ ok: true })
})
