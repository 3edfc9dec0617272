// mail 9.2 and msg 17.5: who is let in with what signature.
import { conform } from '../conform.ts'
import { bodyCases } from './body-cases.ts'
import { cavageCases } from './cavage-cases.ts'
import { messageCases } from './evidence-cases.ts'
import { ownerCases } from './key-cases.ts'
import { proofCases } from './proof-cases.ts'
import { rfcCases } from './rfc9421-cases.ts'

conform('mail 9.2: the older signatures', cavageCases)
conform('mail 9.2: RFC 9421', rfcCases)
conform('mail 9.2: whose key it is', ownerCases)
conform('mail 9.2: proofs in the activity', proofCases)
conform('mail 9.2: bodies', bodyCases)
conform('msg 17.5: ActivityPub', messageCases)
