import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common';
import { searchAttributes } from './contracts.ts';

const organization = defineSearchAttributeKey(searchAttributes.organization, SearchAttributeType.KEYWORD);
const resource = defineSearchAttributeKey(searchAttributes.resource, SearchAttributeType.KEYWORD);

/** By which operators find what is an organization's, or about a thing of its. */
export const attributesOf = (organizationId: string, resourceId: string) => [
  { key: organization, value: organizationId },
  { key: resource, value: resourceId },
];

const deliveryStatus = defineSearchAttributeKey(searchAttributes.deliveryStatus, SearchAttributeType.KEYWORD);

/** By which operators find dead letters. */
export const deliveryStatusOf = (status: string) => ({ key: deliveryStatus, value: status });
