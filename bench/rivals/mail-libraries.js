// smtp-server, mailauth and mailparser as their documentation puts them together: collected, authenticated, parsed, 250. Nothing is
// kept, and nothing is asked but whether a signature passed.
import { authenticate } from 'mailauth'
import { listenForMail } from './listen-for-mail.js'

export async function start({ zone }) {
  return listenForMail(zone, async (raw, { resolver, ip, helo, sender }) => {
    const { dkim, dmarc } = await authenticate(raw, { ip, helo, sender, resolver, mta: 'mx.bench.example' })
    return dkim.results[0]?.status.result === 'pass' && dmarc.status.result === 'pass'
  })
}
