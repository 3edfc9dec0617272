// The cases of mail 9.1, and those of 9.2 where others are looked up.
import { conform } from '../conform.ts'
import { documentCases } from './document-cases.ts'
import { remoteCases } from './remote-cases.ts'

conform('ActivityPub: what others find of us', documentCases)
conform('ActivityPub: what we find of others', remoteCases)
