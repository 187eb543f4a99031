import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common';
import { searchAttributes } from './contracts/search-attributes.ts';

const organization = defineSearchAttributeKey(searchAttributes.organization, SearchAttributeType.KEYWORD);
const resource = defineSearchAttributeKey(searchAttributes.resource, SearchAttributeType.KEYWORD);

const correlation = defineSearchAttributeKey(searchAttributes.correlation, SearchAttributeType.KEYWORD);

/** Operators use these to find the workflows of an organization, of one of its resources, or of one request. */
export const attributesOf = (organizationId: string, resourceId: string, correlationId: string) => [
  { key: organization, value: organizationId },
  { key: resource, value: resourceId },
  { key: correlation, value: correlationId },
];
