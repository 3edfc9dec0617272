// Whether signatures can be checked in this runtime at all, tried on the sample of RFC 8463 appendix A, which carries an RSA and an
// Ed25519 signature. A runtime that fails it would take every mail for unsigned, or worse; so the channel does not start there.
import { GatewayError } from '../../../src/contract/index.ts'
import { loadMailChecks, type MailChecks } from './library.ts'

const sampleKeys: Readonly<Record<string, string>> = {
  'brisbane._domainkey.football.example.com': 'v=DKIM1; k=ed25519; p=11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=',
  'test._domainkey.football.example.com':
    'v=DKIM1; k=rsa; p=MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQKBgQDkHlOQoBTzWRiGs5V6NpP3idY6Wk08a5qhdR6wy5bdOKb2jLQiY/J16JYi0Qvx/by' +
    'YzCNb3W91y3FutACDfzwQ/BC/e/8uBsCR+yz1Lxj+PL6lHvqMKrM3rG4hstT5QjvHO9PzoxZyVYLzBfO2EeC3Ip3G+2kryOTIKT+l/K4w3QIDAQAB',
}

const sample = [
  'DKIM-Signature: v=1; a=ed25519-sha256; c=relaxed/relaxed;',
  ' d=football.example.com; i=@football.example.com;',
  ' q=dns/txt; s=brisbane; t=1528637909; h=from : to :',
  ' subject : date : message-id : from : subject : date;',
  ' bh=2jUSOH9NhtVGCQWNr9BrIAPreKQjO6Sn7XIkfJVOzv8=;',
  ' b=/gCrinpcQOoIfuHNQIbq4pgh9kyIK3AQUdt9OdqQehSwhEIug4D11Bus',
  ' Fa3bT3FY5OsU7ZbnKELq+eXdp1Q1Dw==',
  'DKIM-Signature: v=1; a=rsa-sha256; c=relaxed/relaxed;',
  ' d=football.example.com; i=@football.example.com;',
  ' q=dns/txt; s=test; t=1528637909; h=from : to : subject :',
  ' date : message-id : from : subject : date;',
  ' bh=2jUSOH9NhtVGCQWNr9BrIAPreKQjO6Sn7XIkfJVOzv8=;',
  ' b=F45dVWDfMbQDGHJFlXUNB2HKfbCeLRyhDXgFpEL8GwpsRe0IeIixNTe3',
  ' DhCVlUrSjV4BwcVcOF6+FF3Zo9Rpo1tFOeS9mPYQTnGdaSGsgeefOsk2Jz',
  ' dA+L10TeYt9BgDfQNZtKdN1WO//KgIqXP7OdEFE4LjFYNcUxZQ4FADY+8=',
  'From: Joe SixPack <joe@football.example.com>',
  'To: Suzie Q <suzie@shopping.example.net>',
  'Subject: Is dinner ready?',
  'Date: Fri, 11 Jul 2003 21:00:37 -0700 (PDT)',
  'Message-ID: <20030712040037.46341.5F8J@football.example.com>',
  '',
  'Hi.',
  '',
  'We lost the game.  Are you hungry yet?',
  '',
  'Joe.',
  '',
].join('\r\n')

/** Throws where a true signature does not pass, or a broken one does. */
export async function testSignatureChecks(
  library: Pick<MailChecks, 'checkSignatures'> | undefined = undefined,
): Promise<void> {
  const { checkSignatures } = library ?? (await loadMailChecks())
  const checkSample = async (mail: string): Promise<string> => {
    const options = { resolver: sampleResolver, strict: true, minBitLength: 1024, curTime: new Date('2018-06-11') }
    const { results } = await checkSignatures(new TextEncoder().encode(mail), options)
    return results.map(({ status }) => status.result).join(' ')
  }
  const [whole, broken] = [await checkSample(sample), await checkSample(sample.replace('dinner', 'supper'))]
  if (whole === 'pass pass' && broken === 'fail fail') return
  throw new GatewayError(
    'config_invalid',
    `[email] this runtime cannot check signatures (${whole}, ${broken}); run it where node:crypto knows RSA and Ed25519, or leave email out`,
  )
}

const sampleResolver = async (name: string): Promise<readonly (readonly string[])[]> => {
  const record = sampleKeys[name]
  if (record === undefined) throw Object.assign(new Error('no record'), { code: 'ENOTFOUND' })
  return [[record]]
}
