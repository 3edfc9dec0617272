// Results that are in hand while the database answers nothing, while connections to it break, or while its answers are lost.
import { describeResultsInHand } from './result-keeper.ts'

describeResultsInHand(['freeze', 'cut', 'deafen'])
