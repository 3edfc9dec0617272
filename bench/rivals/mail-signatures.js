// The same with the least of mailauth that proves an author: DKIM and DMARC, without SPF, ARC and the headers about them.
import { dkimVerify } from 'mailauth/lib/dkim/verify.js'
import { evaluateDmarc } from 'mailauth/lib/dmarc/index.js'
import { listenForMail } from './listen-for-mail.js'

export async function start({ zone }) {
  return listenForMail(zone, async (raw, { resolver }) => {
    const { results, headerFrom, fromFields } = await dkimVerify(raw, { resolver })
    const dkimDomains = results
      .filter(({ status }) => status.result === 'pass')
      .map(({ id, signingDomain }) => ({ id, domain: signingDomain }))
    const { response } = await evaluateDmarc({ headerFrom, fromFields, spfDomains: [], dkimDomains, resolver })
    return response !== false && response.status.result === 'pass'
  })
}
