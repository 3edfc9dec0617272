import { conform } from '../conform.ts'
import { historyCases } from './history-cases.ts'

conform('the history policy', historyCases)
