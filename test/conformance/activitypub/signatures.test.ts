// Who is let in with what signature.
import { conform } from '../conform.ts'
import { bodyCases } from './body-cases.ts'
import { cavageCases } from './cavage-cases.ts'
import { messageCases } from './evidence-cases.ts'
import { ownerCases } from './key-cases.ts'
import { proofCases } from './proof-cases.ts'
import { rfcCases } from './rfc9421-cases.ts'

conform('the older signatures', cavageCases)
conform('RFC 9421', rfcCases)
conform('whose key it is', ownerCases)
conform('proofs in the activity', proofCases)
conform('bodies', bodyCases)
conform('ActivityPub', messageCases)
